-- Where events take place, the texts that organizations write for their mails, and whether they mail
-- buyers whose hold has expired.
SET LOCAL holdfast.owner = on;
-- A migration that waits for a table stops everybody behind it.
SET LOCAL lock_timeout = '2s';

ALTER TABLE event
    ADD COLUMN venue text CHECK (length(venue) BETWEEN 1 AND 200),
    ADD COLUMN time_zone text CHECK (length(time_zone) BETWEEN 1 AND 50);

ALTER TABLE organization ADD COLUMN mail_when_expired boolean;
GRANT UPDATE (mail_when_expired) ON organization TO holdfast_app;

-- A kind of mail without a row has the built-in text.
CREATE TABLE mail_template (
    organization_id uuid NOT NULL REFERENCES organization (id),
    kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 40),
    subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 200),
    body text NOT NULL CHECK (length(body) BETWEEN 1 AND 5000),
    version integer NOT NULL CHECK (version > 0),
    updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    PRIMARY KEY (organization_id, kind)
);
ALTER TABLE mail_template ENABLE ROW LEVEL SECURITY;
ALTER TABLE mail_template FORCE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON mail_template TO holdfast_app
    USING ((organization_id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE);
CREATE POLICY operators_read ON mail_template FOR SELECT TO holdfast_operator
    USING (current_user = 'holdfast_operator');
DO $$
BEGIN
    EXECUTE format(
        'CREATE POLICY owner_at_work ON mail_template TO %I USING (
             current_setting(''holdfast.owner'', true) = ''on''
             OR current_setting(''role'') <> ''none'')',
        current_user);
END
$$;
GRANT SELECT, INSERT, UPDATE, DELETE ON mail_template TO holdfast_app;
GRANT SELECT ON mail_template TO holdfast_operator;

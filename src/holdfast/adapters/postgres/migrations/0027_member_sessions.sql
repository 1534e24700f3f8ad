SET LOCAL holdfast.owner = on;
SET LOCAL lock_timeout = '2s';

-- Server processes remember a session for some seconds (0014_keys.sql), so they have to hear when it
-- lacks two-factor authentication.
CREATE FUNCTION holdfast_announce_strict_organization() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM pg_notify('holdfast_keys', s.id::text) FROM member_session s
    WHERE s.organization_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER announce_sessions AFTER UPDATE OF two_factor_required ON organization FOR EACH ROW
    WHEN (NEW.two_factor_required AND OLD.two_factor_required IS NOT TRUE)
    EXECUTE FUNCTION holdfast_announce_strict_organization();

CREATE FUNCTION holdfast_announce_device() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM pg_notify('holdfast_keys', s.id::text)
    FROM member m JOIN member_session s ON s.organization_id = m.organization_id AND s.member_id = m.id
    WHERE m.user_id = OLD.user_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER announce_sessions AFTER UPDATE OF confirmed, user_id OR DELETE ON otp_totp_totpdevice
    FOR EACH ROW EXECUTE FUNCTION holdfast_announce_device();

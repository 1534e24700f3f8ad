"""Rate limits of organizations, as texts such as 10/300, and the function by which every server
process reads those of all organizations."""

from django.db import migrations, models

_COLUMNS = (
    "rate_seats_per_holder",
    "rate_requests_per_key",
    "rate_requests_per_holder",
    "rate_requests_per_address",
)
_NAMES = ", ".join(_COLUMNS)
ADD = f"""
SET LOCAL lock_timeout = '2s';
ALTER TABLE organization {", ".join(f"ADD COLUMN {name} text" for name in _COLUMNS)};
GRANT UPDATE ({_NAMES}) ON organization TO holdfast_app;
CREATE FUNCTION holdfast_rate_limits()
    RETURNS TABLE (id uuid, {", ".join(f"{name} text" for name in _COLUMNS)})
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT o.id, {", ".join(f"o.{name}" for name in _COLUMNS)}
    FROM organization o
    WHERE num_nonnulls({", ".join(f"o.{name}" for name in _COLUMNS)}) > 0
$$;
REVOKE ALL ON FUNCTION holdfast_rate_limits() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_rate_limits() TO holdfast_app;
"""  # noqa: S608
DROP = f"""
DROP FUNCTION holdfast_rate_limits();
ALTER TABLE organization {", ".join(f"DROP COLUMN {name}" for name in _COLUMNS)};
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0020_holder_limits")]
    operations = [
        migrations.RunSQL(
            ADD,
            DROP,
            state_operations=[
                migrations.AddField("organization", name, models.TextField(null=True))
                for name in _COLUMNS
            ],
        )
    ]

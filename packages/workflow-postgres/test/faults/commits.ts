/*
 * Records the commits of a schema with triggers, and checks these rules without product code:
 *
 * C1 The process that gave a thread its fence writes all lines under this fence.
 * C2 The fence of a thread never decreases from one line to the next.
 * C3 The checksums of the records are chained, as docs/reference/storage-format.md describes.
 * C4 The row of a thread has the correct numbers of lines, and the last checksum.
 * C5 A claim writes only while its lease lasts.
 */

/** Returns the statements that record claims, inserted lines, and writes after the end of a lease. */
export const recording = (schema: string): string => `
  CREATE TABLE ${schema}.audit (
    id bigserial, thread_id text, fence bigint, log int, n int, app text
  );
  CREATE FUNCTION ${schema}.audited() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO ${schema}.audit (thread_id, fence, log, n, app)
    SELECT NEW.thread_id, t.fence, NEW.log, NEW.n, current_setting('application_name')
    FROM ${schema}.threads t WHERE t.thread_id = NEW.thread_id;
    RETURN NULL;
  END $$;
  CREATE TRIGGER audited AFTER INSERT ON ${schema}.lines FOR EACH ROW EXECUTE FUNCTION ${schema}.audited();
  CREATE TABLE ${schema}.audit_claims (thread_id text, fence bigint, app text);
  CREATE TABLE ${schema}.audit_late (thread_id text, fence bigint, late interval);
  CREATE FUNCTION ${schema}.audited_claim() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP = 'INSERT' OR NEW.fence IS DISTINCT FROM OLD.fence THEN
      INSERT INTO ${schema}.audit_claims
      VALUES (NEW.thread_id, NEW.fence, current_setting('application_name'));
    ELSIF coalesce(OLD.lease_until < statement_timestamp(), true)
      AND (NEW.records, NEW.turns, NEW.events) <> (OLD.records, OLD.turns, OLD.events) THEN
      INSERT INTO ${schema}.audit_late
      VALUES (NEW.thread_id, NEW.fence, statement_timestamp() - OLD.lease_until);
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER audited BEFORE INSERT OR UPDATE ON ${schema}.threads
  FOR EACH ROW EXECUTE FUNCTION ${schema}.audited_claim();`;

type Sql = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Returns violations of C1, C2, C4 and C5. */
export async function wrongCommits(sql: Sql, schema: string): Promise<string[]> {
  type Found = { thread_id: string; what: string };
  const found = await sql<Found>(`
    SELECT thread_id, format('line %s of log %s is of %s, and the fence %s of %s', n, log, a.app, fence, c.app) AS what
    FROM ${schema}.audit a LEFT JOIN ${schema}.audit_claims c USING (thread_id, fence)
    WHERE a.app IS DISTINCT FROM c.app
    UNION ALL
    SELECT thread_id, format('line %s of log %s has the fence %s after %s', n, log, fence, before) FROM (
      SELECT *, lag(fence) OVER (PARTITION BY thread_id, log ORDER BY n) AS before FROM ${schema}.audit
    ) AS a WHERE fence < before
    UNION ALL
    SELECT t.thread_id, format('has %s records and %s lines', t.records, count(l.n))
    FROM ${schema}.threads t LEFT JOIN ${schema}.lines l ON l.thread_id = t.thread_id AND l.log = 0
    GROUP BY t.thread_id, t.records HAVING count(l.n) <> t.records OR max(l.n) <> t.records - 1
    UNION ALL
    SELECT DISTINCT thread_id, 'is without a thread' FROM ${schema}.lines l
    WHERE NOT EXISTS (SELECT FROM ${schema}.threads t WHERE t.thread_id = l.thread_id)
    UNION ALL
    SELECT thread_id, format('is written under the fence %s without a lease, which ended %s before', fence, late)
    FROM ${schema}.audit_late`);
  return found.map(({ thread_id, what }) => `${thread_id}: ${what}`);
}

/** Returns violations of C3 in the records of a thread. */
export function wrongSums(lines: readonly string[], last: string): string[] {
  let sum = 0n;
  for (const [n, line] of lines.entries()) {
    const [, body = "", written = ""] = /^(.*),"sum":"([0-9a-f]{16})"\}$/s.exec(line) ?? [];
    sum = Bun.hash.xxHash64(body, sum);
    if (sum.toString(16).padStart(16, "0") !== written)
      return [`the checksum of record ${n} is wrong`];
  }
  return sum.toString(16).padStart(16, "0") === last ? [] : ["its row has another last checksum"];
}

import type { Database } from "../database/database.ts";
import { clockOff } from "./errors.ts";

/**
 * Maximum clock difference of a worker, in milliseconds. With a larger difference, threads would wake at wrong times.
 */
const mostMs = 10_000;

/** Compares this machine's clock with the database server's. @throws WorkflowError `CLOCK_OFF` */
export async function checkClock(database: Database): Promise<void> {
  const before = Date.now();
  const [row] = await database.query<{ now: string }>(
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::text AS now",
  );
  const after = Date.now();
  const server = Number(row?.now ?? before);
  // The server responded between these two times.
  const lead = before > server ? before - server : Math.min(0, after - server);
  if (Math.abs(lead) > mostMs) throw clockOff(lead, database.address.place);
}

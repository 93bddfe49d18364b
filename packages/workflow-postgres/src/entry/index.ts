export {
  type DatabaseAddress,
  isDatabaseUrl,
  readDatabaseUrl,
  shownUrl,
} from "../database/address.ts";
export type { DatabaseOptions } from "../database/database.ts";
export { openPostgresStore, type PostgresStore } from "../store/store.ts";
export { openPostgresHost, type PostgresHost, type PostgresHostOptions } from "../host/host.ts";
export { openPlanRows, type PlanRows } from "../host/plans.ts";
export {
  type PostgresWorker,
  type PostgresWorkerOptions,
  servePostgresWorker,
} from "../worker/worker.ts";

import type { Row } from "../row.ts";
import { again } from "./again.ts";
import { busy } from "./busy.ts";
import { cluster } from "./cluster.ts";
import { firstPage } from "./first-page.ts";
import { growth } from "./growth.ts";
import { iteration } from "./iteration.ts";
import { list } from "./list.ts";
import { listeners } from "./listeners.ts";
import { plans } from "./plans.ts";
import { seen } from "./seen.ts";
import { start } from "./start.ts";
import { step } from "./step.ts";
import { stream } from "./stream.ts";
import { memory, together } from "./together.ts";
import { turns } from "./turns.ts";

/** All rows, in the order of docs/explanation/performance.md. */
export const rows: readonly Row[] = [
  step,
  start,
  together,
  growth,
  again,
  list,
  memory,
  stream,
  turns,
  iteration,
  plans,
  listeners,
  firstPage,
  seen,
  busy,
  cluster,
];

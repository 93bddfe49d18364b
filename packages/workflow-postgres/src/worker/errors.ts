import { WorkflowError } from "@uncaged/workflow/host";

/** A clock that is `leadMs` milliseconds ahead of the database server's clock. */
export const clockOff = (leadMs: number, place: string): WorkflowError =>
  WorkflowError.failed(
    "CLOCK_OFF",
    `the clock of this machine is ${Math.round(Math.abs(leadMs) / 1000)} s ${leadMs > 0 ? "ahead of" : "behind"} the clock of the database ${place}`,
    "set both clocks by NTP: a worker's clock decides when its threads wake",
  );

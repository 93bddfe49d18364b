import { WorkflowError } from "../contract/error.ts";

/** `name`: the name of the store's storage root, if it has one. */
export const storeClosed = (name?: string): WorkflowError =>
  WorkflowError.failed(
    "STORE_CLOSED",
    `${name === undefined ? "" : `${name}: `}the store is closed`,
    "open it again",
  );

export const badCursor = (threadId: string, cursor: string, log: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_POSITION",
    `${threadId}: invalid cursor ${JSON.stringify(cursor)} of the ${log} log`,
  );

export const recordTooLong = (threadId: string, bytes: number, most: number): WorkflowError =>
  WorkflowError.failed(
    "RECORD_TOO_LARGE",
    `${threadId}: a record of ${bytes} bytes exceeds the limit of ${most} bytes`,
    "put large data into a file and give its path",
  );

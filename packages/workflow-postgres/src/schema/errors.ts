import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of a schema in a database. */

export const schemaNewer = (schema: string, version: number, own: number): WorkflowError =>
  WorkflowError.failed(
    "SCHEMA_NEWER",
    `the schema ${schema} has the version ${version}; this program knows versions up to ${own}`,
    "update uncaged-workflow on this machine; nothing was changed",
  );

export const schemaForeign = (schema: string, table: string): WorkflowError =>
  WorkflowError.failed(
    "SCHEMA_FOREIGN",
    `the schema ${schema} has a table ${table} of another program`,
    "choose another schema: ?schema=name in the URL; nothing was changed",
  );

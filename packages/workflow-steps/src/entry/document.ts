// Entry point `./document`: the document format for editors. Does no I/O and is small enough for a browser.

export { validate } from "../check/check.ts";
export { inputSchema, Registry } from "../document/registry.ts";
export { workflowSchema } from "../document/schema.ts";

/**
 * Makes agent graphs from exports of other programs. Does no I/O and runs in browsers.
 *
 * @module
 */

export { type ImportedGraph, importGraph, isImportable } from "../import/import.ts";
export type { LeftOut } from "../import/draft.ts";

/**
 * Turns the text of an agent graph into a checked document and the source of a bundle.
 *
 * @module
 */

export {
  checkedGraph,
  type CheckedGraph,
  graphSource,
  type GraphSource,
  isGraph,
  providersOf,
} from "../source/source.ts";

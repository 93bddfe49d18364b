// Entry point 3: agent graphs as texts: read, checked, and made into sources of bundles.

export {
  checkedGraph,
  type CheckedGraph,
  graphSource,
  type GraphSource,
  isGraph,
  providersOf,
} from "../source/source.ts";

// Plans in files: checked, and made into sources of bundles.
export { planSource } from "../source/source.ts";

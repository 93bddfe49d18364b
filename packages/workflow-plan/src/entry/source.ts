// Entry point 2: plans as texts: read, checked, and made into sources of bundles.

export { isPlan, planSource, type PlanSource } from "../source/source.ts";

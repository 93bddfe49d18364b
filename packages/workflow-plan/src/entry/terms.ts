// The values of the fields of plans, runs and steps. This file imports nothing else.
export {
  type Decision,
  decisions,
  diffModes,
  failureReactions,
  isCancelled,
  phases,
  runStatuses,
  stepStatuses,
} from "../plan/terms.ts";

// Entry point 5: the values that a plan's, a run's and a step's fields can have. It loads nothing else.

export {
  type Decision,
  decisions,
  diffModes,
  failureReactions,
  phases,
  runStatuses,
  stepStatuses,
} from "../plan/terms.ts";

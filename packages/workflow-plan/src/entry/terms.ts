// The values of a plan's, a run's and a step's fields. It imports nothing else.
export {
  type Decision,
  decisions,
  diffModes,
  failureReactions,
  phases,
  runStatuses,
  stepStatuses,
} from "../plan/terms.ts";

import type { Template } from "../../editor/kind.ts";

/** Graphs to start from: the examples of the project. */
export const graphTemplates: readonly Template[] = [
  {
    label: "Review with approval",
    hint: "Two reviewers at once; a person approves",
    load: () => import("../../../../../examples/review-pipeline/pipeline.json"),
  },
  {
    label: "Research with subagents",
    hint: "A writer asks two researchers",
    load: () => import("../../../../../examples/research-team/team.json"),
  },
  {
    label: "Router",
    hint: "A sorter chooses the agent that answers",
    load: () => import("../../../../../examples/support-router/router.json"),
  },
];

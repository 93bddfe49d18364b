import type { Template } from "../../editor/kind.ts";

/** Step workflows to start from: the examples of the project. */
export const stepTemplates: readonly Template[] = [
  {
    label: "Approval",
    hint: "A question to a person, with a time limit",
    load: () => import("../../../../../examples/steps/approval.json"),
  },
  {
    label: "Parallel steps",
    hint: "Chains side by side; steps that handle a failure",
    load: () => import("../../../../../examples/steps/fan-out.json"),
  },
  {
    label: "Models",
    hint: "Models that stream, answer in a schema, and call tools",
    load: () => import("../../../../../examples/steps/models.json"),
  },
];

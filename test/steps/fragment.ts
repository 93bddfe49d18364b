import type { RegistryDocument, StepDocument, WorkflowDocument } from "@uncaged/workflow-steps";

/** Returns a workflow around one step of a guide, with everything that the step refers to. */
export function aroundStep(step: StepDocument): WorkflowDocument {
  const text = JSON.stringify(step);
  const names = new Set(text.match(/\$[A-Za-z]\w*/g));
  const registry: RegistryDocument = {
    vars: [...names].map((name) => `${name}(ANY)`),
    apis: [{ id: "user", url: "https://example.com/users/{id}" }],
  };
  const named = [
    step.next,
    step.onError,
    typeof step.timeout === "object" ? step.timeout.on : undefined,
    ...(step.cases ?? []).map(([, id]) => id),
  ];
  const others = named
    .filter((id): id is string => id !== undefined && id !== "RETURN" && id !== "BREAK")
    .map((id) => ({ id, type: "Noop", next: "RETURN" }));
  return { version: "3.18", name: "a fragment", registry, steps: [step, ...others] };
}

import type { Plan } from "@uncaged/workflow-server/api-types";
import { formatJson } from "../../lib/json.ts";
import { Facts, type Fact } from "../../ui/facts.tsx";
import { LongText, Prose } from "../../ui/prose.tsx";

type Props = {
  step: Plan["steps"][number];
  /** Facts from a run. */
  more?: readonly Fact[];
};

/** All facts of a plan's step. */
export function StepFacts({ step, more = [] }: Props) {
  const { description, depends_on, inputs, expected_output = null } = step;
  const given = Object.entries(inputs);
  return (
    <Facts
      look="list"
      facts={[
        ["Task", <Prose key="task" text={description} isMarkdown isOpen />],
        ["Result", expected_output],
        ["After", depends_on.length > 0 ? depends_on.join(", ") : null],
        ...given.map(
          ([name, value]): Fact => [
            `Input ${name}`,
            <div key={name} className="anywhere">
              <LongText text={typeof value === "string" ? value : (formatJson(value) ?? "")} />
            </div>,
          ],
        ),
        ...more,
      ]}
    />
  );
}

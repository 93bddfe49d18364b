import type { PlanView } from "@uncaged/workflow-server/api-types";
import { useNow } from "../../lib/format.ts";
import type { Fact } from "../../ui/facts.tsx";
import { catchUpWords, slotTimes, triggerWords } from "./trigger.ts";

type Of = Pick<PlanView, "trigger" | "metadata">;

/** A trigger in words, its next times, and its catch-up. */
export const triggerFacts = (of: Of, slots: readonly string[]): Fact[] => [
  ["Trigger", triggerWords(of.trigger)],
  ["Next", slots.length > 0 ? <NextTimes key="next" trigger={of.trigger} slots={slots} /> : null],
  ["Catch-up", catchUpWords(of)],
];

type NextProps = { trigger: PlanView["trigger"]; slots: readonly string[] };

function NextTimes({ trigger, slots }: NextProps) {
  const now = useNow(30_000);
  return (
    <ol>
      {slotTimes(trigger, slots, now).map(({ theirs, mine }) => (
        <li key={theirs}>
          {theirs}
          {mine !== null && <span className="text-muted"> ({mine} in your time)</span>}
        </li>
      ))}
    </ol>
  );
}

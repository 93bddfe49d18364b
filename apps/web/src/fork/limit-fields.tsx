import { useQuery } from "@tanstack/react-query";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { historyQuery } from "../api/workflows.ts";
import { SelectField, TextField } from "../controls/field.tsx";
import { moment } from "../format/time.ts";
import { type Limits, problemsInLimits } from "./limits.ts";

type Props = { thread: Thread; limits: Limits; onChange: (change: Partial<Limits>) => void };

/** The version that a new thread goes on with, and its rounds. */
export function LimitFields({ thread, limits, onChange }: Props) {
  const { data: versions = [] } = useQuery({ ...historyQuery(thread.workflow), retry: false });
  const others = versions.filter(({ hash }) => hash !== thread.hash);
  return (
    <>
      <SelectField
        label="Version"
        value={limits.on}
        hint="The new thread may go on with another version of the workflow."
        onChange={({ target }) => onChange({ on: target.value })}
      >
        <option value="">{thread.hash}, as before</option>
        {others.map(({ hash, timestamp, current }) => (
          <option key={hash} value={hash}>
            {hash}, {moment(timestamp)}
            {current ? ", current" : ""}
          </option>
        ))}
      </SelectField>
      <TextField
        label="Max rounds"
        inputMode="numeric"
        placeholder={`as before: ${thread.maxRounds}`}
        hint="It counts all steps, those that are kept included."
        value={limits.maxRounds}
        problem={problemsInLimits(limits).maxRounds}
        onChange={({ target }) => onChange({ maxRounds: target.value })}
      />
    </>
  );
}

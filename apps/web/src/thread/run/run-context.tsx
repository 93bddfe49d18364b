import { type ReactNode, useMemo } from "react";
import { readValue } from "../../lib/values.ts";
import { SectionsContext } from "../../ui/section.tsx";
import { type ValueSource, ValueSourceContext } from "../../ui/whole.tsx";
import type { Run } from "./use-run.ts";

/** Provides a loader of full values and the open state of sections. */
export function RunContext({ run, children }: { run: Run; children: ReactNode }) {
  const { threadId, log } = run;
  const prompt = run.thread?.prompt ?? "";
  const sections = useMemo(() => new Map<string, boolean>(), []);
  const values = useMemo(
    (): ValueSource => ({
      name: threadId ?? "",
      read: (value, signal) =>
        readValue(value, { threadId: threadId ?? "", prompt, steps: log.steps }, signal),
    }),
    [threadId, prompt, log],
  );
  return (
    <SectionsContext value={sections}>
      <ValueSourceContext value={values}>{children}</ValueSourceContext>
    </SectionsContext>
  );
}

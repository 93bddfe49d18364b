import { runBlocker } from "@uncaged/workflow-graph/document";
import { editPrompt, promptOf } from "@uncaged/workflow-graph/editing";
import { Play } from "lucide-react";
import { useDeferredValue, useMemo } from "react";
import type { EditedDocument } from "../../editor/document/document.ts";
import { useDocumentPart } from "../../editor/document/use-document.ts";
import { isRecord } from "../../lib/json.ts";
import { isComposing } from "../../lib/kept.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea } from "../../ui/field.tsx";
import { FailureNotice } from "../../ui/states.tsx";

type Props = {
  edited: EditedDocument;
  /** Whether another run is in progress. */
  isRunning: boolean;
  isStarting: boolean;
  error: Error | null;
  onRun: () => void;
};

/** The prompt of a graph with the button that runs it, or the reason why it can't run. */
export function Composer({ edited, isRunning, isStarting, error, onRun }: Props) {
  const value = useDocumentPart(edited, (state) => state.value);
  const broken = useDocumentPart(edited, (state) => state.broken);
  const later = useDeferredValue(value);
  const blocker = useMemo(() => runBlocker(isRecord(later) ? later : {}), [later]);
  const prompt = useMemo(() => promptOf(value), [value]);
  const reason = isRunning
    ? "A run is in progress."
    : broken
      ? `Invalid JSON in line ${broken.line}.`
      : (blocker?.message ?? null);
  const addStart = () =>
    edited.apply(edited.kind.add(edited.state().value, "start", { x: 0, y: 0 }, null));
  return (
    <form
      className="flex flex-none flex-col gap-2 border-t p-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (reason === null && !isStarting) onRun();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || isComposing(event))
          return;
        event.preventDefault();
        event.currentTarget.requestSubmit();
      }}
    >
      {error && <FailureNotice error={error} />}
      {!isRunning && (
        <TextArea
          label="Prompt"
          rows={2}
          value={prompt ?? ""}
          disabled={prompt === null}
          onChange={({ target }) => edited.apply(editPrompt(edited.state().value, target.value))}
        />
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button
          look="solid"
          type="submit"
          icon={<Play />}
          isBusy={isStarting}
          disabled={reason !== null}
          aria-describedby={reason === null ? undefined : "why-not-run"}
        >
          Run
        </Button>
        {reason !== null && (
          <p id="why-not-run" className="min-w-0 flex-1 text-small text-muted wrap-anywhere">
            {reason}{" "}
            {reason === blocker?.message && blocker.reason === "no_start" && (
              <Button small onClick={addStart}>
                Add a Start
              </Button>
            )}
          </p>
        )}
      </div>
    </form>
  );
}

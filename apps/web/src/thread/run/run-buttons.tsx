import { Pause, Play, RotateCcw } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { useControl } from "../../lib/thread-actions.ts";
import { retryThread } from "../../lib/threads.ts";
import { Button, useKeptFocus } from "../../ui/button.tsx";
import { FailureNotice, PausingNote } from "../../ui/states.tsx";
import { useThread } from "./thread-context.tsx";

type Look = "solid" | "plain" | "danger";

type Controls = {
  /** A button that is busy during any action on the thread. */
  button: (label: string, icon: ReactNode, perform: () => void, look?: Look) => ReactNode;
  perform: (act: () => Promise<unknown>) => void;
};

type Props = {
  onRetried: (threadId: string) => void;
  /** More buttons. */
  children: (controls: Controls) => ReactNode;
};

/** The buttons that pause, resume and retry the thread, and the error of the last action. */
export function RunButtons({ onRetried, children }: Props) {
  const { threadId, thread, status, log } = useThread();
  const { work, isPausing, pause, resume } = useControl(threadId, status, log.isPausing);
  const buttons = useRef<HTMLDivElement>(null);
  useKeptFocus(buttons);
  const button: Controls["button"] = (label, icon, perform, look = "solid") => (
    <Button look={look} icon={icon} isBusy={work.isPending} onClick={perform}>
      {label}
    </Button>
  );
  const retry = async () => onRetried((await retryThread(threadId)).threadId);
  const canRetry = (status === "failed" || status === "killed") && thread.movedTo === undefined;
  return (
    <div ref={buttons} className="flex flex-wrap gap-2 empty:hidden">
      {isPausing && <PausingNote />}
      {status === "running" && !isPausing && button("Pause", <Pause />, pause, "plain")}
      {(isPausing || status === "paused" || status === "interrupted") &&
        button("Resume", <Play />, resume)}
      {canRetry && button("Retry", <RotateCcw />, () => work.mutate(retry))}
      {children({ button, perform: work.mutate })}
      {work.error && (
        <div className="basis-full">
          <FailureNotice error={work.error} />
        </div>
      )}
    </div>
  );
}

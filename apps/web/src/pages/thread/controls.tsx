import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { RetryThread, Status, Thread } from "@uncaged/workflow-server/api-types";
import {
  Columns2,
  Ellipsis,
  GitFork,
  MessageSquareReply,
  OctagonX,
  Pause,
  Pencil,
  Play,
  RotateCcw,
  Trash2,
} from "lucide-react";
import { type ReactNode, useId, useRef, useState } from "react";
import { StartDialog } from "../../workflow/start/start-dialog.tsx";
import { count, counted } from "../../lib/format.ts";
import { useControl } from "../../lib/thread-actions.ts";
import {
  type ForkPoint,
  familyQuery,
  isEnded,
  killThread,
  recentThreadsQuery,
  removeThread,
  retryThread,
} from "../../lib/threads.ts";
import { bundleQuery, documentQuery } from "../../lib/workflows.ts";
import { Button, useKeptFocus } from "../../ui/button.tsx";
import { Confirm, Dialog, DialogForm } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { FailureNotice, PausingNote } from "../../ui/states.tsx";

type Props = {
  thread: Thread;
  status: Status;
  isPausing: boolean;
  isStopped: boolean;
  asksFor: boolean;
  onFork: (point: ForkPoint) => void;
  onAnswer: () => void;
};
type Asking = "kill" | "delete" | "compare" | "retry" | "again" | null;

export function Controls(props: Props) {
  const { thread, status, isStopped, asksFor, onFork, onAnswer } = props;
  const { threadId, stepCount, workflow, hash } = thread;
  const navigate = useNavigate();
  const [asking, ask] = useState<Asking>(null);
  const client = useQueryClient();
  const { work: go, isPausing, pause, resume } = useControl(threadId, status, props.isPausing);
  const buttons = useRef<HTMLDivElement>(null);
  useKeptFocus(buttons);
  const isEnd = isEnded(status);
  const isMoved = status === "moved" || thread.movedTo !== undefined;
  const file = useQuery({ ...bundleQuery(hash), retry: false }).data?.document ?? "";
  // Only a registered workflow can get a new version.
  const isDrawn = file.endsWith(".json") && workflow !== hash;
  const edit = async () => {
    const { kind } = await client.query(documentQuery(hash));
    const params = { name: workflow };
    if (kind === "graph") await navigate({ to: "/editor/graph/$name", params });
    else await navigate({ to: "/editor/steps/$name", params, search: { run: threadId } });
  };
  const retry = async (body?: RetryThread) => {
    const { threadId: id } = await retryThread(threadId, body);
    await navigate({ to: "/threads/$id", params: { id } });
  };
  const act = (label: string, icon: ReactNode, perform: () => void) => (
    <Button
      look={label === "Pause" ? "plain" : "solid"}
      icon={icon}
      isBusy={go.isPending}
      onClick={perform}
    >
      {label}
    </Button>
  );
  return (
    <div ref={buttons} className="flex flex-wrap gap-2">
      {isPausing && <PausingNote />}
      {status === "running" && !isPausing && act("Pause", <Pause />, pause)}
      {asksFor && (
        <Button look="solid" icon={<MessageSquareReply />} onClick={onAnswer}>
          Go to question
        </Button>
      )}
      {(isPausing || status === "paused" || status === "interrupted") &&
        act("Resume", <Play />, resume)}
      {(status === "failed" || status === "killed") &&
        !isMoved &&
        act("Retry", <RotateCcw />, () => go.mutate(() => retry()))}
      {isStopped && !isMoved && (
        <Button look="solid" icon={<RotateCcw />} onClick={() => ask("retry")}>
          Retry with more rounds…
        </Button>
      )}
      {!isEnd && status !== "corrupt" && !isMoved && (
        <Button look="danger" icon={<OctagonX />} onClick={() => ask("kill")}>
          Kill
        </Button>
      )}
      {thread.forkFrom && (
        <Button
          icon={<Columns2 />}
          onClick={() =>
            void navigate({
              to: "/threads/$id/compare/$other",
              params: { id: thread.forkFrom?.threadId ?? "", other: threadId },
            })
          }
        >
          Compare with original
        </Button>
      )}
      <Menu trigger={<Button icon={<Ellipsis />} aria-label="More actions" />}>
        <MenuItem icon={<GitFork />} onClick={() => onFork({ kind: "fork", number: stepCount })}>
          Fork…
        </MenuItem>
        <MenuItem icon={<RotateCcw />} onClick={() => ask("again")}>
          Start again with these values
        </MenuItem>
        {isDrawn && (
          <MenuItem icon={<Pencil />} onClick={() => go.mutate(edit)}>
            Edit the workflow
          </MenuItem>
        )}
        <MenuItem icon={<Columns2 />} onClick={() => ask("compare")}>
          Compare with…
        </MenuItem>
        <MenuItem icon={<Trash2 />} danger onClick={() => ask("delete")}>
          Delete…
        </MenuItem>
      </Menu>
      {go.error && (
        <div className="basis-full">
          <FailureNotice error={go.error} />
        </div>
      )}
      <Confirm
        title="Kill this thread?"
        action="Kill"
        isOpen={asking === "kill"}
        onClose={() => ask(null)}
        perform={() => killThread(threadId)}
      >
        <p>
          It ends now, and the current step is lost. Committed steps are kept; a retry continues
          after them.
        </p>
      </Confirm>
      <Confirm
        title="Delete this thread?"
        action="Delete"
        isOpen={asking === "delete"}
        onClose={() => ask(null)}
        perform={async () => {
          await removeThread(threadId);
          await navigate({ to: "/" });
        }}
      >
        <p>Its logs are deleted: {stepCount} steps and their events. Its forks stay.</p>
        {isMoved && <p>The thread stays on the other host.</p>}
        {!isEnd && !isMoved && <p>It has not ended. Kill it first.</p>}
      </Confirm>
      <MoreRoundsDialog
        thread={thread}
        isOpen={asking === "retry"}
        onClose={() => ask(null)}
        perform={(maxRounds) => retry({ maxRounds })}
      />
      <StartDialog
        workflow={workflow === hash ? hash : `${workflow}@${hash}`}
        values={thread}
        isOpen={asking === "again"}
        onClose={() => ask(null)}
      />
      <CompareDialog thread={thread} isOpen={asking === "compare"} onClose={() => ask(null)} />
    </div>
  );
}

type MoreRoundsProps = {
  thread: Thread;
  isOpen: boolean;
  onClose: () => void;
  perform: (maxRounds: number) => Promise<void>;
};

function MoreRoundsDialog({ thread: { maxRounds }, isOpen, onClose, perform }: MoreRoundsProps) {
  const [text, setText] = useState(String(maxRounds * 2));
  const rounds = Number(text);
  const isMore = Number.isInteger(rounds) && rounds > maxRounds;
  const go = useMutation({ mutationFn: perform, onSuccess: onClose });
  return (
    <Dialog title="Retry with more rounds" isOpen={isOpen} onClose={onClose}>
      <DialogForm
        action="Retry"
        work={go}
        isDisabled={!isMore}
        onSubmit={() => go.mutate(rounds)}
        onClose={onClose}
      >
        <TextField
          label="Max rounds"
          inputMode="numeric"
          value={text}
          hint={`Counts the steps of both threads. It was stopped at ${counted(maxRounds, "step")}.`}
          problem={isMore ? undefined : `A whole number above ${count(maxRounds)}.`}
          onChange={({ target }) => setText(target.value)}
        />
      </DialogForm>
    </Dialog>
  );
}

type CompareDialogProps = { thread: Thread; isOpen: boolean; onClose: () => void };

function CompareDialog({ thread, isOpen, onClose }: CompareDialogProps) {
  const { threadId, workflow, forkFrom } = thread;
  const list = useId();
  const navigate = useNavigate();
  const [other, setOther] = useState(forkFrom?.threadId ?? "");
  const { data: family = [] } = useQuery({ ...familyQuery(threadId), enabled: isOpen });
  const { data: recent = [] } = useQuery({ ...recentThreadsQuery(workflow), enabled: isOpen });
  const relatives = family.filter((one) => one.threadId !== threadId);
  const known = new Set([threadId, ...relatives.map((one) => one.threadId)]);
  const suggested = [...relatives, ...recent.filter((one) => !known.has(one.threadId))];
  const compare = () => {
    if (other.trim() === "") return;
    onClose();
    void navigate({
      to: "/threads/$id/compare/$other",
      params: { id: threadId, other: other.trim() },
    });
  };
  return (
    <Dialog title="Compare with another thread" isOpen={isOpen} onClose={onClose}>
      <DialogForm
        action="Compare"
        isDisabled={other.trim() === ""}
        onSubmit={compare}
        onClose={onClose}
      >
        <TextField
          label="The other thread"
          list={list}
          value={other}
          hint="Its id, or a unique part of it. Forks and other threads of the workflow are suggested."
          onChange={({ target }) => setOther(target.value)}
        />
        <datalist id={list}>
          {suggested.map((one) => (
            <option key={one.threadId} value={one.threadId}>
              {one.workflow}, {one.status}
            </option>
          ))}
        </datalist>
      </DialogForm>
    </Dialog>
  );
}

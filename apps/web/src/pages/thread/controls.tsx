import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Status, Thread } from "@uncaged/workflow-server/api-types";
import {
  Columns2,
  Ellipsis,
  GitFork,
  MessageSquareReply,
  OctagonX,
  Pause,
  Play,
  RotateCcw,
  Trash2,
} from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import {
  type ForkPoint,
  familyQuery,
  isEnded,
  killThread,
  pauseThread,
  recentThreadsQuery,
  removeThread,
  resumeThread,
  retryThread,
  threadKeys,
} from "../../lib/threads.ts";
import { Button, useKeptFocus } from "../../ui/button.tsx";
import { Confirm, Dialog, DialogForm } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { FailureNotice } from "../../ui/states.tsx";

type Props = {
  thread: Thread;
  status: Status;
  onFork: (point: ForkPoint) => void;
  /** Goes to the question that a waiting thread asks. */
  onAnswer: () => void;
};
type Asking = "kill" | "delete" | "compare" | null;

export function Controls({ thread, status, onFork, onAnswer }: Props) {
  const { threadId, stepCount } = thread;
  const navigate = useNavigate();
  const [asking, ask] = useState<Asking>(null);
  const client = useQueryClient();
  const go = useMutation({
    mutationFn: (perform: () => Promise<unknown>) => perform(),
    onSettled: () => client.invalidateQueries({ queryKey: threadKeys.one(threadId) }),
  });
  const { reset } = go;
  // What was refused in another state is no news in this one.
  useEffect(reset, [reset, status]);
  const buttons = useRef<HTMLDivElement>(null);
  useKeptFocus(buttons);
  const isEnd = isEnded(status);
  const retry = async () => {
    const { threadId: id } = await retryThread(threadId);
    await navigate({ to: "/threads/$id", params: { id } });
  };
  const act = (label: string, icon: ReactNode, perform: () => Promise<unknown>) => (
    <Button
      look={label === "Pause" ? "plain" : "solid"}
      icon={icon}
      isBusy={go.isPending}
      onClick={() => go.mutate(perform)}
    >
      {label}
    </Button>
  );
  return (
    <div ref={buttons} className="flex flex-wrap gap-5">
      {status === "running" && act("Pause", <Pause />, () => pauseThread(threadId))}
      {status === "waiting" && (
        <Button look="solid" icon={<MessageSquareReply />} onClick={onAnswer}>
          Answer
        </Button>
      )}
      {(status === "paused" || status === "interrupted") &&
        act("Resume", <Play />, () => resumeThread(threadId))}
      {(status === "failed" || status === "killed") && act("Retry", <RotateCcw />, retry)}
      {!isEnd && status !== "corrupt" && (
        <Button look="danger" icon={<OctagonX />} onClick={() => ask("kill")}>
          Kill
        </Button>
      )}
      <Menu trigger={<Button icon={<Ellipsis />} aria-label="More to do" />}>
        <MenuItem icon={<GitFork />} onClick={() => onFork({ kind: "fork", number: stepCount })}>
          Fork…
        </MenuItem>
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
          It ends now; the step at work is lost. The committed steps stay, and a retry goes on from
          them.
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
        {!isEnd && <p>It has not ended. Kill it first.</p>}
      </Confirm>
      <CompareDialog thread={thread} isOpen={asking === "compare"} onClose={() => ask(null)} />
    </div>
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
          hint="Its id, or a part of it that is its alone. Its forks are suggested, and others of its workflow."
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

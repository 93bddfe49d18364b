import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Thread } from "@uncaged/workflow-server/api-types";
import {
  Columns2,
  Ellipsis,
  GitFork,
  MessageSquareReply,
  OctagonX,
  Pencil,
  RotateCcw,
  Trash2,
} from "lucide-react";
import { useState } from "react";
import { count, counted } from "../../lib/format.ts";
import {
  familyQuery,
  isEnded,
  killThread,
  recentThreadsQuery,
  removeThread,
  retryThread,
} from "../../lib/threads.ts";
import { bundleQuery, documentQuery } from "../../lib/workflows.ts";
import { RunButtons } from "../../thread/run/run-buttons.tsx";
import { useThread } from "../../thread/run/thread-context.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { TextDialog } from "../../ui/text-dialog.tsx";
import { StartDialog } from "../../workflow/start/start-dialog.tsx";

type Asking = "kill" | "delete" | "compare" | "retry" | "again" | null;

export function Controls({ onAnswer }: { onAnswer: () => void }) {
  const { threadId, thread, status, isStopped, sleepingUntil, fork } = useThread();
  const { stepCount, workflow, hash, forkFrom, maxRounds } = thread;
  const navigate = useNavigate();
  const [asking, ask] = useState<Asking>(null);
  const close = () => ask(null);
  const client = useQueryClient();
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
  const compare = (id: string, other: string) =>
    void navigate({ to: "/threads/$id/compare/$other", params: { id, other } });
  const open = (id: string) => navigate({ to: "/threads/$id", params: { id } });
  return (
    <>
      <RunButtons onRetried={(id) => void open(id)}>
        {({ perform }) => (
          <>
            {status === "waiting" && sleepingUntil === null && (
              <Button look="solid" icon={<MessageSquareReply />} onClick={onAnswer}>
                Go to question
              </Button>
            )}
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
            {forkFrom && (
              <Button icon={<Columns2 />} onClick={() => compare(forkFrom.threadId, threadId)}>
                Compare with original
              </Button>
            )}
            <Menu trigger={<Button icon={<Ellipsis />} aria-label="More actions" />}>
              <MenuItem
                icon={<GitFork />}
                onClick={() => fork({ kind: "fork", number: stepCount })}
              >
                Fork…
              </MenuItem>
              <MenuItem icon={<RotateCcw />} onClick={() => ask("again")}>
                Start again with these values
              </MenuItem>
              {isDrawn && (
                <MenuItem icon={<Pencil />} onClick={() => perform(edit)}>
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
          </>
        )}
      </RunButtons>
      <Confirm
        title="Kill this thread?"
        action="Kill"
        isOpen={asking === "kill"}
        onClose={close}
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
        onClose={close}
        perform={async () => {
          await removeThread(threadId);
          await navigate({ to: "/" });
        }}
      >
        <p>Its logs are deleted: {stepCount} steps and their events. Its forks stay.</p>
        {isMoved && <p>The thread stays on the other host.</p>}
        {!isEnd && !isMoved && <p>It has not ended. Kill it first.</p>}
      </Confirm>
      <TextDialog
        title="Retry with more rounds"
        label="Max rounds"
        hint={`Counts the steps of both threads. It was stopped at ${counted(maxRounds, "step")}.`}
        action="Retry"
        initial={String(maxRounds * 2)}
        checksTyping
        problemOf={(text) =>
          Number.isInteger(Number(text)) && Number(text) > maxRounds
            ? null
            : `A whole number above ${count(maxRounds)}.`
        }
        isOpen={asking === "retry"}
        onClose={close}
        perform={async (text) =>
          open((await retryThread(threadId, { maxRounds: Number(text) })).threadId)
        }
      />
      <StartDialog
        workflow={workflow === hash ? hash : `${workflow}@${hash}`}
        values={thread}
        isOpen={asking === "again"}
        onClose={close}
      />
      <CompareDialog
        thread={thread}
        isOpen={asking === "compare"}
        onClose={close}
        onChosen={(other) => compare(threadId, other)}
      />
    </>
  );
}

type CompareDialogProps = {
  thread: Thread;
  isOpen: boolean;
  onClose: () => void;
  onChosen: (other: string) => void;
};

function CompareDialog({ thread, isOpen, onClose, onChosen }: CompareDialogProps) {
  const { threadId, workflow, forkFrom } = thread;
  const { data: family = [] } = useQuery({ ...familyQuery(threadId), enabled: isOpen });
  const { data: recent = [] } = useQuery({ ...recentThreadsQuery(workflow), enabled: isOpen });
  const known = new Set([...family, ...recent].map((one) => one.threadId));
  known.delete(threadId);
  return (
    <TextDialog
      title="Compare with another thread"
      label="The other thread"
      hint="Its id, or a unique part of it. Forks and other threads of the workflow are suggested."
      action="Compare"
      initial={forkFrom?.threadId}
      suggestions={[...known]}
      problemOf={(text) => (text === "" ? "This must be filled in." : null)}
      isOpen={isOpen}
      onClose={onClose}
      perform={onChosen}
    />
  );
}

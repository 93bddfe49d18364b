import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { OctagonX, Pause, SquareCheck } from "lucide-react";
import { useState } from "react";
import {
  interruptedQuery,
  killAll,
  pauseAll,
  resumeInterrupted,
  threadKeys,
} from "../../lib/threads.ts";
import { Confirm } from "../../ui/dialog.tsx";
import { MenuAt, MenuItem } from "../../ui/menu.tsx";
import { FailureNotice } from "../../ui/states.tsx";
import { counted } from "../../lib/format.ts";
import { Button } from "../../ui/button.tsx";

type Props = {
  anchor: () => HTMLElement | null;
  isOpen: boolean;
  onClose: () => void;
  onSelect: () => void;
};

/** The menu of the list: actions on all threads. */
export function ListMenu({ anchor, isOpen, onClose, onSelect }: Props) {
  const [isAsking, ask] = useState(false);
  const client = useQueryClient();
  const pausing = useMutation({
    mutationFn: pauseAll,
    onSettled: () => client.invalidateQueries({ queryKey: threadKeys.all }),
  });
  return (
    <>
      {pausing.error && <FailureNotice error={pausing.error} />}
      <MenuAt anchor={anchor} label="More" isOpen={isOpen} onClose={onClose}>
        <MenuItem icon={<SquareCheck />} onClick={onSelect}>
          Select threads
        </MenuItem>
        <MenuItem icon={<Pause />} onClick={() => pausing.mutate()}>
          Pause all
        </MenuItem>
        <MenuItem danger icon={<OctagonX />} onClick={() => ask(true)}>
          Kill all…
        </MenuItem>
      </MenuAt>
      <Confirm
        title="Kill all threads?"
        action="Kill all"
        isOpen={isAsking}
        onClose={() => ask(false)}
        perform={async () => {
          await killAll();
          await client.invalidateQueries({ queryKey: threadKeys.all });
        }}
      >
        <p>
          All running, sleeping, waiting and paused threads end now, and their current steps are
          lost. Committed steps are kept.
        </p>
      </Confirm>
    </>
  );
}

/** Offers to resume interrupted threads. Renders nothing without interrupted threads. */
export function InterruptedLine() {
  const { data } = useQuery({ ...interruptedQuery, retry: false });
  const client = useQueryClient();
  const work = useMutation({
    mutationFn: resumeInterrupted,
    onSettled: () => client.invalidateQueries({ queryKey: threadKeys.all }),
  });
  if (!data || data.resumed.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-2 text-small text-muted">
      <span>
        {counted(data.resumed.length, "thread")} interrupted within the last day. A server resumes
        them automatically with <code>serve --resume</code>.
      </span>
      <Button isBusy={work.isPending} onClick={() => work.mutate()}>
        Resume
      </Button>
      {work.error && <FailureNotice error={work.error} />}
    </div>
  );
}

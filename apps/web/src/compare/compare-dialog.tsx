import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { type SubmitEvent, useId, useState } from "react";
import { familyQuery, recentThreadsQuery } from "../api/threads.ts";
import { Button } from "../controls/button.tsx";
import { Dialog, DialogBody, DialogButtons } from "../controls/dialog.tsx";
import { TextField } from "../controls/field.tsx";

type Props = { thread: Thread; isOpen: boolean; onClose: () => void };

/** Asks which thread another is to be compared with. */
export function CompareDialog({ thread, isOpen, onClose }: Props) {
  const { threadId, workflow, forkFrom } = thread;
  const list = useId();
  const navigate = useNavigate();
  const [other, setOther] = useState(forkFrom?.threadId ?? "");
  const { data: family = [] } = useQuery({ ...familyQuery(threadId), enabled: isOpen });
  const { data: recent = [] } = useQuery({ ...recentThreadsQuery(workflow), enabled: isOpen });
  const relatives = family.filter((one) => one.threadId !== threadId);
  const known = new Set([threadId, ...relatives.map((one) => one.threadId)]);
  const suggested = [...relatives, ...recent.filter((one) => !known.has(one.threadId))];
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (other.trim() === "") return;
    onClose();
    void navigate({
      to: "/threads/$id/compare/$other",
      params: { id: threadId, other: other.trim() },
    });
  };
  return (
    <Dialog title="Compare with another thread" isOpen={isOpen} onClose={onClose}>
      <form onSubmit={submit}>
        <DialogBody>
          <TextField
            label="The other thread"
            className="mono"
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
        </DialogBody>
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="solid" type="submit" disabled={other.trim() === ""}>
            Compare
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

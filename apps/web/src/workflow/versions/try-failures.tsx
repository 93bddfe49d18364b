import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ago, counted, useNow } from "../../lib/format.ts";
import { failedThreadsQuery, retryThread } from "../../lib/threads.ts";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { CheckField } from "../../ui/field.tsx";
import { FailureNotice, Loaded } from "../../ui/states.tsx";

type Props = { name: string; hash: string; isOpen: boolean; onClose: () => void };

/** Continues chosen failed threads of a workflow on another version, each as a fork before its failed step. */
export function TryFailures({ name, hash, isOpen, onClose }: Props) {
  return (
    <Dialog title="Try on last failures" isOpen={isOpen} onClose={onClose}>
      {isOpen && <Failures name={name} hash={hash} onClose={onClose} />}
    </Dialog>
  );
}

type Outcome = { threadId?: string; error?: Error };

function Failures({ name, hash, onClose }: Omit<Props, "isOpen">) {
  const query = useQuery(failedThreadsQuery(name));
  const now = useNow(30_000);
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const isDone = (id: string) => outcomes.get(id)?.threadId !== undefined;
  const left = [...chosen].filter((id) => !isDone(id));
  const work = useMutation({
    // Threads start one after another, so that a refusal does not affect started threads.
    mutationFn: async () => {
      for (const id of left) {
        const outcome = await retryThread(id, { on: hash }).catch((error: unknown) => ({
          error: error instanceof Error ? error : new Error(String(error)),
        }));
        setOutcomes((before) => new Map(before).set(id, outcome));
      }
    },
  });
  return (
    <DialogForm
      action={left.length > 0 ? `Try ${counted(left.length, "thread")}` : "Try"}
      work={work}
      isDisabled={left.length === 0}
      onSubmit={() => work.mutate()}
      onClose={onClose}
    >
      <p className="text-muted">
        Each chosen thread is forked before its failed step and continues on <code>{hash}</code>.
        The steps before it are not paid again.
      </p>
      <Loaded query={query} lines={3}>
        {(failed) =>
          failed.length === 0 ? (
            <p>No thread of {name} has failed.</p>
          ) : (
            <ul className="flex flex-col gap-3">
              {failed.map(({ threadId, subject, at, updatedAt }) => {
                const outcome = outcomes.get(threadId);
                return (
                  <li key={threadId} className="flex flex-col gap-1">
                    <CheckField
                      label={subject}
                      hint={`${at?.text ?? "failed"} · ${ago(updatedAt, now)}`}
                      checked={chosen.has(threadId)}
                      disabled={isDone(threadId) || work.isPending}
                      onChange={() => choose(chosen.symmetricDifference(new Set([threadId])))}
                    />
                    {outcome?.threadId && (
                      <Link to="/threads/$id" params={{ id: outcome.threadId }} className="pl-6">
                        Open the new thread
                      </Link>
                    )}
                    {outcome?.error && <FailureNotice error={outcome.error} />}
                  </li>
                );
              })}
            </ul>
          )
        }
      </Loaded>
    </DialogForm>
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Controlled, Status } from "@uncaged/workflow-server/api-types";
import { useEffect, useState } from "react";
import { act, threadKeys } from "./threads.ts";

/**
 * Controls of a thread. A change of status clears the last error. `isPausing` comes from the stream, but a request of
 * this page takes precedence until the stream changes.
 */
export function useControl(threadId: string, status: Status, isPausing: boolean) {
  const client = useQueryClient();
  const [asked, setAsked] = useState<boolean | null>(null);
  const work = useMutation({
    mutationFn: (perform: () => Promise<unknown>) => perform(),
    onSettled: () => client.invalidateQueries({ queryKey: threadKeys.one(threadId) }),
  });
  const { mutate, reset } = work;
  useEffect(() => {
    reset();
    setAsked(null);
  }, [reset, status, isPausing]);
  return {
    work,
    /** A pause is pending until the current step ends. Resume cancels it. */
    isPausing: status === "running" && (asked ?? isPausing),
    pause: () =>
      mutate(async () => {
        await act<Controlled>(threadId, "pause");
        setAsked(true);
      }),
    resume: () =>
      mutate(async () => {
        await act<Controlled>(threadId, "resume");
        setAsked(false);
      }),
  };
}

/** Creates a thread and opens it, or calls `open`. `make` resolves to its id. */
export function useNewThread(
  make: () => Promise<string>,
  onMade?: () => void,
  open?: (id: string) => void,
) {
  const navigate = useNavigate();
  return useMutation({
    mutationFn: make,
    onSuccess: (id) => {
      onMade?.();
      if (open) open(id);
      else void navigate({ to: "/threads/$id", params: { id } });
    },
  });
}

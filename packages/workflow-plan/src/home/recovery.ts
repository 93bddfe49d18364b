import { ExecutorError } from "../error/error.ts";
import { noticeOf } from "./notice.ts";
import type { Begun, OnRunError, Recovered, RecoverOptions } from "../runs/runs.ts";

/**
 * Recovers runs, and stores notices for the owners of resumed and refused runs.
 * @throws the errors of the recovery, unless `onError` is set.
 */
export async function tellingOwners(
  notify: (workflowId: string, text: string) => Promise<void>,
  options: RecoverOptions,
  recover: (options: RecoverOptions) => Promise<Recovered>,
): Promise<Recovered> {
  const notices: Promise<void>[] = [];
  const errors: unknown[] = [];
  const report: OnRunError = options.onError ?? ((_run, error) => void errors.push(error));
  const onInterrupted = async (run: Begun): Promise<void> => {
    try {
      await notify(run.workflowId, noticeOf.interrupted(run.runId));
    } catch (error) {
      report(run, error);
    }
    await options.onInterrupted?.(run);
  };
  const onError: OnRunError = (run, error) => {
    // A user does not see the log of a service, so a notice tells the owner that the run has stopped.
    if (error instanceof ExecutorError)
      notices.push(notify(run.workflowId, error.message).catch(() => undefined));
    report(run, error);
  };
  const recovered = await recover({ ...options, onError, onInterrupted });
  await Promise.all(notices);
  if (errors.length > 0) throw errors[0];
  return recovered;
}

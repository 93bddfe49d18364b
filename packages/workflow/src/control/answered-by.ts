import { z } from "zod";
import { type AnsweredBy, answererKinds } from "../contract/contract.ts";
import { badAnswerer } from "./errors.ts";

const longestName = 200;

/** Schema of the sender of an answer in a request to the control socket. */
export const answeredBy = z.strictObject({
  kind: z.enum(answererKinds),
  name: z.string().min(1).max(longestName).optional(),
});

/**
 * Returns the sender of an answer, as it is recorded: of the kind `api` when the request does not name the sender.
 * @throws WorkflowError `BAD_REQUEST` (usage)
 */
export function answererOf({ by }: { by?: unknown }): AnsweredBy {
  if (by === undefined) return { kind: "api" };
  const { success, data, error } = answeredBy.safeParse(by);
  if (success) return data;
  const [issue] = error.issues;
  const where = ["by", ...(issue?.path ?? [])].join(".");
  throw badAnswerer(where, issue?.message ?? "invalid value", answererKinds);
}

import { z } from "zod";
import { type AnsweredBy, answererKinds } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";

const longestName = 200;

/** Who gave an answer, as a client of the control socket may say. */
export const answeredBy = z.strictObject({
  kind: z.enum(answererKinds),
  name: z.string().min(1).max(longestName).optional(),
});

/**
 * Who is recorded as the sender of an answer: `api` where the sender does not say.
 * @throws WorkflowError `BAD_REQUEST` (usage)
 */
export function answererOf({ by }: { by?: unknown }): AnsweredBy {
  if (by === undefined) return { kind: "api" };
  const { success, data, error } = answeredBy.safeParse(by);
  if (success) return data;
  const [issue] = error.issues;
  const where = ["by", ...(issue?.path ?? [])].join(".");
  throw WorkflowError.usage(
    "BAD_REQUEST",
    `${where}: ${issue?.message}`,
    `give {"kind", "name"?} with one of the kinds ${answererKinds.join(", ")}`,
  );
}

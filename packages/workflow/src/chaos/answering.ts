import type { RoleOutput, WorkflowFn } from "../contract/contract.ts";
import { answersFromFixture, type Fixture } from "../contract/fixture.ts";
import { isRecord } from "../contract/show.ts";
import { rolesNotAnswered } from "./errors.ts";
import type { AnswerRoles } from "./executions.ts";

type Recording = { fixture: Fixture | null; isLive: boolean; name: string };

/**
 * Returns the thread options with the fixture, and a function that selects the roles that the fixture answers: all
 * roles, or in a live thread only the roles that called a model in the recording.
 *
 * @throws WorkflowError `CHAOS_FAILED` when the thread is not live and a fixture can't answer the workflow's roles.
 */
export function answering(
  run: WorkflowFn,
  { fixture, isLive, name }: Recording,
): { answers: AnswerRoles; options: { fixture?: Fixture } } {
  const all: AnswerRoles = (options) => options;
  const kind = (run as { [answersFromFixture]?: unknown })[answersFromFixture];
  if (!isLive && kind === undefined) throw rolesNotAnswered(name);
  if (fixture === null || (isLive && kind !== "each")) return { answers: all, options: {} };
  if (!isLive) return { answers: all, options: { fixture } };
  const paid = new Set(fixture.steps.filter(isPaid).map(({ role }) => role));
  const answers: AnswerRoles = ({ recorded, ...options }) => ({
    ...options,
    ...(recorded && {
      recorded: (role, ...given) => (paid.has(role) ? recorded(role, ...given) : null),
    }),
  });
  return { answers, options: { fixture } };
}

/** Returns whether a step used tokens. Steps of a scripted agent use none. */
const isPaid = ({ meta }: RoleOutput): boolean => {
  const mark = meta.__durable__;
  const spent = isRecord(mark) && isRecord(mark.spent) ? mark.spent : {};
  return [meta.usage, spent.usage].some(
    (usage) => isRecord(usage) && Object.values(usage).some((tokens) => Number(tokens) > 0),
  );
};

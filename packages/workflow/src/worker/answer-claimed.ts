import { compileForAnswer } from "../bundle/schema.ts";
import { type RoleOutput, type Step, WAIT, type WaitMeta } from "../contract/contract.ts";
import { jsonText } from "../contract/json.ts";
import { maskOf } from "../contract/mask.ts";
import type { AnswerRequest } from "../control/control.ts";
import { Answers } from "../engine/answer.ts";
import { stampedText } from "../record/record.ts";
import { stateAfter } from "../store/state.ts";
import type { Claim } from "../store/store.ts";
import { system } from "../system/system.ts";
import { InfoLog } from "./info.ts";
import { recordRefusal } from "./refusal.ts";

/**
 * Answers the open question of a claimed thread that no engine drives. The `__input__` step is durable when this
 * resolves. `env` masks secrets in the debug log.
 * @throws WorkflowError the errors of {@link Answers.give}; the refusal is in the debug log.
 */
export async function answerClaimed(
  claim: Claim,
  { input, question, env, secrets }: AnswerRequest,
): Promise<void> {
  const { ref, start, steps } = claim;
  const { maxRounds } = start.parameters.options;
  const info = new InfoLog(claim, maskOf(env, secrets));
  const next = steps.length + 1;
  const now = () => system.clock.now();
  const commit = async ({ role, content, meta }: RoleOutput): Promise<Step> => {
    const output = { role, content, meta };
    const step = { ...output, timestamp: now() };
    const record = stampedText(jsonText(output), step.timestamp);
    await claim.append(record, stateAfter(step, next, maxRounds));
    return step;
  };
  const answers = new Answers(
    steps,
    {
      judge: compileForAnswer,
      now,
      note: (tag, content) => info.log(tag, content),
      onRefused: (stepID, reason) => recordRefusal(info, stepID, reason, next),
    },
    { threadId: ref.threadId, commit, onBroken: () => undefined },
  );
  const last = steps.at(-1);
  if (last?.role === WAIT) answers.ask(last.meta as WaitMeta, steps.length);
  try {
    await answers.give(input, question);
  } finally {
    answers.close();
    info.close();
  }
}

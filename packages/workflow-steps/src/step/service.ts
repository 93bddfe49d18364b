import { nameOf } from "../document/name.ts";
import { adapterOf, surroundingsOf, untilAborted } from "./adapter-call.ts";
import type { Call, Called } from "./call.ts";
import { isRecord, plain } from "./plain.ts";

/** Calls a service with the step's inputs. `_result` is `data` of its answer when that is truthy. */
export async function callService(call: Call): Promise<Called> {
  const { step, registry, inputs, signal } = call;
  const known = (registry.services ?? []).map((text) => text.split("(", 1)[0]?.trim() ?? "");
  const name = nameOf(step.id, known);
  const service = adapterOf(call, "service");
  const around = surroundingsOf(call);
  const given = await untilAborted(signal, () => service.call(name, inputs, around));
  const answer = plain(given, `the service ${name}`);
  return { locals: { _result: isRecord(answer) && answer.data ? answer.data : answer } };
}

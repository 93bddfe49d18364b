import { nameOf } from "../document/name.ts";
import { adapterOf, surroundingsOf, untilAborted } from "./adapter-call.ts";
import type { Call, Called } from "./call.ts";
import { plain } from "./plain.ts";

/** Calls a component with the step's inputs. */
export async function callComponent(call: Call): Promise<Called> {
  const { step, registry, inputs, signal } = call;
  const known = (registry.components ?? []).map((one) => (typeof one === "string" ? one : one.id));
  const id = nameOf(step.id, known);
  const component = adapterOf(call, "component");
  const around = surroundingsOf(call);
  const given = await untilAborted(signal, () => component.call(id, inputs, around));
  return { locals: { _result: plain(given, `the component ${id}`) } };
}

import { LLMError } from "../adapter/error.ts";
import { adapterOf, untilAborted } from "./adapter-call.ts";
import type { Call } from "./call.ts";

/**
 * The documents of a step as one text, each under its title; none without any.
 *
 * @throws WorkflowError `NO_ADAPTER`; LLMError `bad_request` for a document that is not there.
 */
export async function docsOf(call: Call): Promise<string> {
  const { docs } = call.inputs;
  if (!Array.isArray(docs) || docs.length === 0) return "";
  const ids = docs as (number | string)[];
  const adapter = adapterOf(call, "doc");
  const found = await untilAborted(call.signal, () => adapter.get(ids));
  const known = new Map(found.map((doc) => [String(doc.id), doc]));
  const lost = ids.filter((id) => !known.has(String(id)));
  if (lost.length > 0) {
    const message = `${call.step.id}: there is no document ${lost.join(", ")}`;
    throw new LLMError("bad_request", message, { code: "DOC_MISSING" });
  }
  const texts = ids.map((id) => known.get(String(id)));
  return texts.map((doc) => `# ${doc?.title ?? ""}\n\n${doc?.text ?? ""}`).join("\n\n");
}

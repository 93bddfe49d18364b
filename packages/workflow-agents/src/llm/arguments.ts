/**
 * A tool call's arguments, from the JSON that a model wrote. What is no JSON object is `broken`, in
 * words for the model, and `input` is then empty.
 */
export function argumentsOf(json: string): { input: object; broken?: string } {
  try {
    const input: unknown = JSON.parse(json.trim() || "{}");
    if (typeof input === "object" && input !== null && !Array.isArray(input)) return { input };
    return { input: {}, broken: "its arguments are JSON, but no object" };
  } catch {
    return { input: {}, broken: `its arguments are no JSON: ${json.slice(0, 200)}` };
  }
}

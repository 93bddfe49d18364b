type Fence = { mark: string; label: string; lines: string[] };

/**
 * The JSON value that a text is, or that its one JSON code block holds; undefined when there is none,
 * or more than one and so a choice. A block is JSON when it is labelled `json`, or not labelled and
 * parses; one that is labelled so and does not parse counts too.
 */
export function jsonIn(text: string): unknown {
  const whole = parsed(text);
  if (whole !== undefined) return whole;
  let only: string | undefined;
  for (const { label, lines } of fences(text)) {
    const block = lines.join("\n");
    const isJson = label === "json" || (label === "" && parsed(block) !== undefined);
    if (!isJson) continue;
    if (only !== undefined) return undefined;
    only = block;
  }
  return only === undefined ? undefined : parsed(only);
}

/** Each fenced code block of CommonMark that is closed, in one pass over the lines. */
function* fences(text: string): Generator<Fence> {
  let open: Fence | null = null;
  for (const line of text.split(/\r\n|[\n\r]/)) {
    const [, mark, rest = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (open === null) {
      if (mark === undefined || (mark.startsWith("`") && rest.includes("`"))) continue;
      open = { mark, label: rest.trim().split(/\s/)[0]?.toLowerCase() ?? "", lines: [] };
    } else if (mark?.startsWith(open.mark) && rest.trim() === "") {
      yield open;
      open = null;
    } else {
      open.lines.push(line);
    }
  }
}

function parsed(text: string): unknown {
  // Most answers begin like no JSON at all: this spares a long one the attempt.
  if (!/^\s*["[{\dtfn-]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import { useState } from "react";
import { count, duration } from "../../lib/format.ts";
import { previewOf } from "../../lib/json-nodes.ts";
import { Button } from "../../ui/button.tsx";
import { jsonOf } from "../../ui/json-search.tsx";
import { Prose } from "../../ui/prose.tsx";
import { Section } from "../../ui/section.tsx";
import { groupsOf, type ToolCall, type TurnGroup } from "./parts.ts";
import { Shown } from "./shown.tsx";
import { RowState } from "../../ui/states.tsx";

/** Maximum number of groups of turns shown at once. Earlier groups are shown on demand. */
const mostGroups = 40;

type Props = { turns: Parameters<typeof groupsOf>[0]; isRunning: boolean };

/** The thoughts, texts and tool calls of an agent, in order. */
export function Conversation({ turns, isRunning }: Props) {
  const [isWhole, setWhole] = useState(false);
  const all = groupsOf(turns);
  const groups = isWhole ? all : all.slice(-mostGroups);
  return (
    <>
      {groups.length < all.length && (
        <div>
          <Button small onClick={() => setWhole(true)}>
            Show {count(all.length - groups.length)} earlier turns
          </Button>
        </div>
      )}
      {groups.map((group) => (
        <Group key={group.at} group={group} isGrowing={isRunning && group === groups.at(-1)} />
      ))}
    </>
  );
}

function Group({ group, isGrowing }: { group: TurnGroup; isGrowing: boolean }) {
  if (group.kind === "tools") {
    return (
      <ul className="divide-y rounded-md border" aria-label="Tool calls">
        {group.calls.map((call, index) => (
          <ToolItem key={index} call={call} />
        ))}
      </ul>
    );
  }
  const prose = <Prose text={group.text} isGrowing={isGrowing} isMarkdown />;
  if (group.kind === "text") return prose;
  return (
    <details className="text-muted" open={isGrowing}>
      <summary className="truncate text-small max-sm:leading-10">
        Thinking: {oneLine(group.text)}
      </summary>
      <div className="border-l-2 pt-1 pl-3">{prose}</div>
    </details>
  );
}

const oneLine = (text: string): string => text.slice(0, 140).replace(/\s+/g, " ");

function ToolItem({ call }: { call: ToolCall }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="min-w-0">
      <button
        type="button"
        className="flex min-h-9 w-full cursor-pointer items-center gap-2 px-3 text-left -outline-offset-2 hover:bg-hover max-sm:min-h-10"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <RowState status={call.status} />
        <code className="font-semibold">{call.name}</code>
        <code className="min-w-0 flex-1 truncate text-faint">{previewOf(call.input)}</code>
        {call.continued && <span className="text-small text-faint">continued</span>}
        {call.endedAt !== null && (
          <span className="text-small text-faint">{duration(call.endedAt - call.at)}</span>
        )}
      </button>
      {isOpen && <ToolDetail call={call} />}
    </li>
  );
}

export function ToolDetail({ call }: { call: ToolCall }) {
  const { input, messages, status } = call;
  return (
    <>
      <Section name="tool/input" title="Input" isOpen copy={() => jsonOf(input)}>
        {() => <Shown value={input} name="Input" />}
      </Section>
      {messages.length > 0 && (
        <Section name="tool/messages" title="Messages" isOpen>
          {() => (
            <ul className="text-small text-muted" aria-label="Messages">
              {messages.map((message, line) => (
                <li key={line} className="wrap-anywhere">
                  {message}
                </li>
              ))}
            </ul>
          )}
        </Section>
      )}
      {"output" in call && (
        <Section
          name="tool/output"
          title={status === "failed" ? "Error" : "Output"}
          note={call.continued && "The step continued."}
          isOpen
          copy={() => jsonOf(call.output)}
        >
          {() => <Shown value={call.output} name="Output" />}
        </Section>
      )}
    </>
  );
}

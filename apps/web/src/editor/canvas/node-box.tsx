import { type DrawnNode, type Mark, noteType, type Problem } from "@uncaged/workflow/editing";
import { Handle, type NodeProps } from "@xyflow/react";
import { CircleAlert, Square } from "lucide-react";
import { createContext, useContext } from "react";
import { cost as dollars, duration, tokens as counted } from "../../lib/format.ts";
import { nodeStates, StateIcon } from "../../ui/states.tsx";
import { useEdited } from "../document/use-document.ts";
import { type FlowNode, positionOf, sideOf } from "./flow.ts";
import type { Size } from "../../ui/layout.ts";
import { portAt, rowsOf } from "./geometry.ts";
import { useLiveNode } from "./live.ts";

/** Problems by node id. */
export const ProblemsContext = createContext<ReadonlyMap<string, readonly Problem[]>>(new Map());

/** The marks of nodes and lines by id. */
export type Marks = Record<"nodes" | "edges", ReadonlyMap<string, Mark>>;

export const noMarks: Marks = { nodes: new Map(), edges: new Map() };

export const MarksContext = createContext(noMarks);

const marks = {
  added: { word: "added", look: "border-green ring-3 ring-green-soft", text: "text-green" },
  removed: {
    word: "removed",
    look: "border-red border-dashed ring-3 ring-red-soft",
    text: "text-red",
  },
  changed: { word: "changed", look: "border-amber ring-3 ring-amber-soft", text: "text-amber" },
} as const;

const plain = "border-line-strong";

/** The frame of a node. Selection takes precedence over problems, and problems over the run's state. */
function useFrame(id: string, isSelected: boolean): string {
  const live = useLiveNode(id);
  const problems = useContext(ProblemsContext).get(id);
  const mark = useContext(MarksContext).nodes.get(id);
  if (mark) return marks[mark].look;
  if (isSelected) return "border-accent ring-3 ring-accent-soft";
  if (problems?.some(({ severity }) => severity === "error")) return "border-red";
  return (live && live.state !== "idle" && nodeStates[live.state].border) || plain;
}

export function NodeBox({ id, data: { node, size }, selected }: NodeProps<FlowNode>) {
  const frame = useFrame(id, selected);
  const plainFill = node.type === noteType ? "bg-amber-soft" : "bg-surface";
  const fill = node.isContainer ? "border-dashed bg-accent-soft/35" : `${plainFill} shadow-sm`;
  return (
    <div
      className={`relative flex flex-col rounded-lg border text-small ${fill} ${frame}`}
      style={size}
    >
      <Head node={node} />
      {node.lines.length > 0 && !node.isContainer && (
        <div className="border-t px-3 py-[3px] text-small leading-[18px] text-muted">
          {rowsOf(node).map((row, index) => (
            <p key={index} className="truncate">
              {row}
            </p>
          ))}
        </div>
      )}
      <Ports node={node} size={size} />
    </div>
  );
}

function Head({ node }: { node: DrawnNode }) {
  const { palette } = useEdited().kind;
  const item = palette.find(({ type }) => type === node.type);
  const Icon = item?.icon ?? Square;
  const label = item?.label ?? node.type;
  const problems = useContext(ProblemsContext).get(node.id);
  const mark = useContext(MarksContext).nodes.get(node.id);
  return (
    <div className="flex h-[42px] flex-none items-center gap-2 px-3">
      <Icon className="text-accent" />
      <span className="flex min-w-0 flex-1 flex-col leading-[1.25]">
        <span className="truncate font-semibold">{node.title}</span>
        <Doing
          id={node.id}
          type={
            (node.isContainer ? node.lines[0] : undefined) ?? (label === node.title ? "" : label)
          }
        />
      </span>
      {mark && (
        <span className={`text-small font-semibold ${marks[mark].text}`}>{marks[mark].word}</span>
      )}
      {problems && problems.length > 0 && (
        <span title={problems.map(({ message }) => message).join("\n")}>
          <CircleAlert
            className={
              problems.some(({ severity }) => severity === "error") ? "text-red" : "text-amber"
            }
          />
        </span>
      )}
      <State id={node.id} />
    </div>
  );
}

/** Tokens, time and cost of the newest attempt; the node's type before its first attempt. */
function Doing({ id, type }: { id: string; type: string }) {
  const live = useLiveNode(id);
  if (!live || live.state === "idle")
    return <span className="truncate text-small text-faint">{type}</span>;
  const { durationMs, tokens, cost, run } = live;
  const parts = [
    ...(run > 1 ? [`run ${run}`] : []),
    ...(durationMs === null ? [] : [duration(durationMs)]),
    ...(cost > 0 ? [dollars(cost)] : []),
    ...(tokens > 0 ? [`${counted(tokens)} tok`] : []),
  ];
  const text = parts.join(" · ") || type;
  return (
    <span className="truncate text-small text-muted" title={text}>
      {text}
    </span>
  );
}

function State({ id }: { id: string }) {
  const live = useLiveNode(id);
  if (!live || live.state === "idle") return null;
  return <StateIcon {...nodeStates[live.state]} />;
}

const looks = {
  open: "!border-accent !bg-surface hover:!bg-accent",
  closed: "!border-line-control !bg-sunken",
};

function Ports({ node, size }: { node: DrawnNode; size: Size }) {
  return node.ports.map((port) => {
    const { x, y } = portAt(node, size, port);
    const isAside = port.side === "left" || port.side === "right";
    const isInner = sideOf(port, node) !== positionOf[port.side];
    // Lines into the content start at the left side and go right.
    const style = isInner
      ? { top: y, left: x, right: "auto", transform: "translate(-50%, -50%)" }
      : isAside
        ? { top: y }
        : { left: x };
    return (
      <span key={`${port.role} ${port.id}`}>
        <Handle
          id={port.id}
          type={port.role === "in" ? "target" : "source"}
          position={sideOf(port, node)}
          isConnectable={port.isOpen}
          style={style}
          title={port.hint ?? port.label ?? undefined}
          className={`!size-[12px] !border-2 ${port.isOpen ? looks.open : looks.closed}`}
        />
        {port.label !== null && (
          <span
            className="pointer-events-none absolute max-w-[190px] truncate text-small text-muted"
            style={labelStyle(port.side, x, y, size)}
          >
            {port.label}
          </span>
        )}
      </span>
    );
  });
}

function labelStyle(side: string, x: number, y: number, size: Size) {
  switch (side) {
    case "right":
      return { right: 12, top: y - 9 };
    case "left":
      return { left: 12, top: y - 9 };
    case "bottom":
      return { left: x, bottom: 8, transform: "translateX(-50%)" };
    default:
      return { left: x, bottom: size.height + 6, transform: "translateX(-50%)" };
  }
}

import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight, FileText, Link2, TextCursorInput } from "lucide-react";
import {
  type KeyboardEvent,
  type ReactNode,
  use,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { counted, size } from "../lib/format.ts";
import {
  around,
  canOpen,
  isLongText,
  type JsonNode,
  openAtFirst,
  pathOf,
  previewOf,
  rootOf,
  sizeOf,
  visibleIn,
} from "../lib/json-nodes.ts";
import { filePathOf, isTruncated } from "../lib/values.ts";
import { Copy } from "./button.tsx";
import { IconButton } from "./icon-button.tsx";
import { JsonSearch, jsonOf } from "./json-search.tsx";
import { HidesContext, Prose, useHides } from "./prose.tsx";
import { Whole } from "./whole.tsx";

type Props = {
  value: unknown;
  name: string;
  /** Returns a function that picks the value at a path; null if it can't be picked. */
  onPick?: (path: string) => (() => void) | null;
};

/** Trees with more visible rows scroll, and render only the rows in view. */
const mostUnscrolled = 100;

/** JSON as a tree of any size, with search and copies of values and paths. */
export function JsonTree({ value, name, onPick }: Props) {
  // The subject of an approval must be shown whole.
  const isOpen = use(HidesContext) !== null;
  const root = useMemo(() => rootOf(value), [value]);
  const [open, setOpen] = useState(() => openAtFirst(root, isOpen));
  const [of, setOf] = useState(root);
  const [active, setActive] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  if (of !== root) {
    // Open parts stay open while the value grows.
    setOf(root);
    setOpen((before) => new Set([...before, ...openAtFirst(root, isOpen)]));
  }
  const nodes = useMemo(() => visibleIn(root, open), [root, open]);
  const foldable = useMemo(() => nodes.filter(canOpen), [nodes]);
  const isScrolled = nodes.length > mostUnscrolled;
  const virtual = useVirtualizer({
    count: isScrolled ? nodes.length : 0,
    getScrollElement: () => box.current,
    estimateSize: () => 24,
    overscan: 12,
    getItemKey: (index) => nodes[index]?.id ?? index,
  });
  const shown = virtual.getVirtualItems();
  const [seen, setSeen] = useState(0);
  const last = shown.at(-1)?.index ?? 0;
  if (last > seen) setSeen(last);
  const isFolded = foldable.some((node) => !open.has(node.id));
  useHides(isFolded || (isScrolled && seen < nodes.length - 1));
  const at = nodes.findIndex((node) => node.id === active);
  const go = (index: number) => {
    const node = nodes[Math.min(Math.max(index, 0), nodes.length - 1)];
    if (node) setActive(node.id);
  };
  useEffect(() => {
    if (at < 0) return;
    const isNear = virtual.getVirtualItems().some(({ index }) => index === at);
    if (isScrolled && !isNear) virtual.scrollToIndex(at, { align: "center" });
    requestAnimationFrame(() =>
      box.current?.querySelector(".is-active")?.scrollIntoView({ block: "nearest" }),
    );
  }, [isScrolled, at, virtual]);
  const toggle = (node: JsonNode) => {
    if (canOpen(node)) setOpen((before) => before.symmetricDifference(new Set([node.id])));
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = nodes[at];
    const isNodeOpen = node !== undefined && open.has(node.id);
    const keys: Record<string, () => void> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(Math.max(at, 1) - 1),
      Home: () => go(0),
      End: () => go(nodes.length - 1),
      ArrowRight: () => {
        if (isNodeOpen) go(at + 1);
        else if (node) toggle(node);
      },
      ArrowLeft: () => {
        if (isNodeOpen) toggle(node);
        else go(nodes.findIndex((one) => one.id === node?.parent?.id));
      },
      Enter: () => node && toggle(node),
      c: () => node && void copy(node.value),
      p: () => node && void navigator.clipboard.writeText(pathOf(node)),
      i: () => node && onPick?.(pathOf(node))?.(),
    };
    const act = keys[event.key];
    if (!act || event.target !== event.currentTarget) return;
    event.preventDefault();
    act();
  };
  const reveal = (node: JsonNode) => {
    setOpen((before) => new Set([...before, ...around(node)]));
    setActive(node.id);
  };
  const row = (node: JsonNode) => (
    <Row
      key={node.id}
      id={`${id}${node.id}`}
      node={node}
      isOpen={open.has(node.id)}
      isActive={node.id === active}
      hasFolds={foldable.length > 0}
      onPick={onPick}
      onToggle={() => {
        setActive(node.id);
        toggle(node);
      }}
    />
  );
  const rows = isScrolled
    ? shown.map(({ index, key, start }) => (
        <div
          key={key}
          ref={virtual.measureElement}
          role="none"
          data-index={index}
          className="absolute inset-x-0 top-0"
          style={{ transform: `translateY(${start}px)` }}
        >
          {nodes[index] && row(nodes[index])}
        </div>
      ))
    : nodes.map(row);
  return (
    <div className="flex min-w-0 flex-col gap-1">
      {(isScrolled || sizeOf(value) > mostWithoutSearch) && (
        <JsonSearch value={value} root={root} name={name} onFound={reveal} />
      )}
      <div
        ref={box}
        role="tree"
        aria-label={name}
        tabIndex={0}
        aria-activedescendant={at >= 0 ? `${id}${active}` : undefined}
        className={`code min-w-0 rounded-sm -outline-offset-2 ${isScrolled ? "max-h-[70dvh] overflow-auto border" : ""}`}
        onKeyDown={onKey}
        onFocus={({ target, currentTarget }) => {
          if (target === currentTarget && at < 0) setActive(nodes[0]?.id ?? null);
        }}
      >
        <div
          role="none"
          className="relative"
          style={isScrolled ? { height: virtual.getTotalSize() } : undefined}
        >
          {rows}
        </div>
      </div>
    </div>
  );
}

const mostWithoutSearch = 12;

const copy = async (value: unknown) => navigator.clipboard.writeText(await jsonOf(value));

const deepestIndent = 20;

type RowProps = {
  id: string;
  node: JsonNode;
  isOpen: boolean;
  isActive: boolean;
  hasFolds: boolean;
  onPick: Props["onPick"];
  onToggle: () => void;
};

function Row(props: RowProps) {
  const { id, node, isOpen, isActive, hasFolds, onPick, onToggle } = props;
  const { name, value, depth, range, position, siblings } = node;
  const [isHovered, hover] = useState(false);
  const isFoldable = canOpen(node);
  const label = name ?? "value";
  const hasCopies = (isActive || isHovered) && range === null;
  const pick = hasCopies ? onPick?.(pathOf(node)) : null;
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={Math.max(depth, 1)}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-expanded={isFoldable ? isOpen : undefined}
      aria-selected={isActive}
      className={`relative rounded-sm ${isActive ? "is-active bg-accent-soft" : "hover:bg-hover"}`}
      style={{ paddingLeft: `${Math.min(Math.max(depth - 1, 0), deepestIndent) * 16}px` }}
      onPointerEnter={() => hover(true)}
      onPointerLeave={() => hover(false)}
    >
      <div
        className={`flex min-h-6 items-baseline gap-1 py-0.5 pr-2 max-sm:min-h-10 ${isFoldable ? "cursor-pointer" : ""}`}
        onClick={onToggle}
      >
        {hasFolds && (
          <ChevronRight
            aria-hidden
            className={`self-center text-faint ${isFoldable ? "" : "invisible"} ${isOpen ? "rotate-90" : ""}`}
          />
        )}
        {name !== null && (
          <span className="flex-none text-muted max-w-1/2 wrap-anywhere">{name}:</span>
        )}
        <span className="min-w-0 flex-1 wrap-anywhere">
          <Summary node={node} isOpen={isOpen} />
        </span>
      </div>
      {hasCopies && (
        <span className="absolute top-0 right-1 flex rounded-sm bg-surface">
          {pick && (
            <IconButton
              icon={<TextCursorInput />}
              label={`Insert ${label}`}
              title="Insert it into the last field (i)"
              tabIndex={-1}
              onClick={pick}
            />
          )}
          <Copy text={() => jsonOf(value)} what={`the value of ${label}`} isTabbed={false} />
          {node.parent && (
            <Copy
              text={pathOf(node)}
              what={`the path of ${label}`}
              icon={<Link2 />}
              isTabbed={false}
            />
          )}
        </span>
      )}
      {isOpen && <Opened value={value} />}
    </div>
  );
}

function Summary({ node, isOpen }: { node: JsonNode; isOpen: boolean }) {
  const { value, range } = node;
  const path = filePathOf(value);
  if (path !== null) return <FileValue path={path} />;
  if (range !== null) return <Faint>{counted(range.to - range.from, "item")}</Faint>;
  if (isTruncated(value))
    return <Folded note={size(value.length)} text={isOpen ? null : value.preview} />;
  if (isLongText(value)) {
    const note = value.length > mostUnsized ? size(value.length) : null;
    return <Folded note={note} text={isOpen ? null : previewOf(value)} />;
  }
  const members = sizeOf(value);
  if (members === 0) {
    const text = typeof value === "string" ? JSON.stringify(value) : previewOf(value);
    return <span className={lookOf(value)}>{text}</span>;
  }
  const amount = Array.isArray(value) ? counted(members, "item") : counted(members, "key");
  const note = isOpen || members > mostUncounted ? amount : null;
  return <Folded note={note} text={isOpen ? null : previewOf(value)} />;
}

/** The size of a value, and a folded value in one line. */
const Folded = ({ note, text }: { note: string | null; text: string | null }) => (
  <span className="flex min-w-0 items-baseline gap-2">
    {note !== null && <Faint>{note}</Faint>}
    {text !== null && <span className="min-w-0 flex-1 truncate text-muted">{text}</span>}
  </span>
);

const mostUnsized = 1_000;
const mostUncounted = 8;

const Faint = ({ children }: { children: ReactNode }) => (
  <span className="flex-none text-small text-faint">{children}</span>
);

const lookOf = (value: unknown): string => (typeof value === "string" ? "" : "text-accent");

function Opened({ value }: { value: unknown }) {
  if (isTruncated(value)) {
    return (
      <div className="pb-1 pl-5">
        <Whole value={value}>
          {(full) =>
            typeof full === "object" && full !== null ? (
              <JsonTree value={full} name="The whole value" />
            ) : (
              <Prose text={String(full)} isOpen />
            )
          }
        </Whole>
      </div>
    );
  }
  if (!isLongText(value)) return null;
  return (
    <div className="pb-1 pl-5 font-sans text-body">
      <Prose text={value} isOpen />
    </div>
  );
}

/** The path of a file value. */
export const FileValue = ({ path }: { path: string }) => (
  <span className="code inline-flex items-center gap-1">
    <FileText className="text-faint" /> {path}
  </span>
);

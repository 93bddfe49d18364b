import type { DrawnNode, Problem } from "@uncaged/workflow/editing";
import {
  Braces,
  CircleAlert,
  CircleCheck,
  Download,
  File as FileIcon,
  Keyboard,
  LayoutGrid,
  Redo2,
  Undo2,
  Upload,
} from "lucide-react";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { counted } from "../lib/format.ts";
import { Button } from "../ui/button.tsx";
import { SearchField } from "../ui/search-field.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { useDocumentPart, useEdited, useEditor } from "./document/use-document.ts";

type Props = {
  name: string;
  isTextShown: boolean;
  onText: () => void;
  onHelp: () => void;
  onImport: () => void;
  onShow: (id: string) => void;
  children?: ReactNode;
};

export function Toolbar(props: Props) {
  const { isReadOnly } = useEditor();
  const { isTextShown, onText, onHelp, onShow, children } = props;
  return (
    <div
      className="flex flex-none flex-wrap items-center gap-2 border-b bg-surface px-3 py-2"
      role="toolbar"
      aria-label="Editor"
    >
      {!isReadOnly && <HistoryButtons />}
      {!isReadOnly && <LayoutButton />}
      <Search onShow={onShow} />
      <Problems />
      <span className="flex-1" />
      {!isReadOnly && (
        <Button
          look="quiet"
          icon={<Braces />}
          aria-pressed={isTextShown}
          className="aria-pressed:bg-accent-soft aria-pressed:text-accent max-md:hidden"
          onClick={onText}
        >
          JSON
        </Button>
      )}
      <Files {...props} />
      <Button
        look="quiet"
        className="max-md:hidden"
        icon={<Keyboard />}
        aria-label="Keys of the editor"
        title="Keys (?)"
        onClick={onHelp}
      />
      {children}
    </div>
  );
}

function HistoryButtons() {
  const document = useEdited();
  const undoable = useDocumentPart(document, (state) => state.undoable);
  const redoable = useDocumentPart(document, (state) => state.redoable);
  const buttons = [
    ["Undo", undoable, "Ctrl Z", <Undo2 />, () => document.undo()],
    ["Redo", redoable, "Ctrl Y", <Redo2 />, () => document.redo()],
  ] as const;
  return buttons.map(([label, step, key, icon, act]) => (
    <Button
      key={label}
      look="quiet"
      icon={icon}
      aria-label={label}
      title={step === null ? `${label} (${key})` : `${label}: ${step} (${key})`}
      disabled={step === null}
      onClick={act}
    />
  ));
}

function LayoutButton() {
  const { document, actions } = useEditor();
  if (!document.kind.move) return null;
  return (
    <Button look="quiet" icon={<LayoutGrid />} onClick={() => void actions.layOut()}>
      Lay out all
    </Button>
  );
}

const textOf = ({ id, title, type, lines }: DrawnNode): string =>
  [id, title, type, ...lines].join("\n").toLowerCase();

/** Searches nodes by their visible text. Enter moves to the next match. */
function Search({ onShow }: { onShow: (id: string) => void }) {
  const document = useEdited();
  const [text, setText] = useState("");
  const nodes = useDocumentPart(document, (state) => state.drawing.nodes);
  const found = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return wanted === "" ? [] : nodes.filter((node) => textOf(node).includes(wanted));
  }, [nodes, text]);
  const at = useRef(-1);
  const next = () => {
    at.current = (at.current + 1) % Math.max(1, found.length);
    const node = found[at.current];
    if (node) onShow(node.id);
  };
  return (
    <div className="flex min-w-24 flex-[0_1_16rem] items-center gap-2">
      <SearchField
        label="Find a node"
        value={text}
        onChange={(value) => {
          at.current = -1;
          setText(value);
        }}
        onLeave={next}
      />
      <span role="status" className="flex-none text-small text-faint">
        {text.trim() === "" ? "" : `${found.length} found`}
      </span>
    </div>
  );
}

const isError = ({ severity }: Problem): boolean => severity === "error";

/** A button with the number of errors and warnings. It clears the selection, so that the inspector lists them. */
function Problems() {
  const document = useEdited();
  const problems = useDocumentPart(document, (state) => state.problems);
  const isBroken = useDocumentPart(document, (state) => state.broken !== null);
  const errors = problems.filter(isError).length + (isBroken ? 1 : 0);
  const warnings = problems.filter((one) => !isError(one)).length;
  const said = [
    ...(errors > 0 ? [counted(errors, "error")] : []),
    ...(warnings > 0 ? [counted(warnings, "warning")] : []),
  ].join(", ");
  if (said === "") {
    return (
      <span className="flex items-center gap-1 text-small text-green" role="status">
        <CircleCheck /> <span className="max-sm:sr-only">No problems</span>
      </span>
    );
  }
  return (
    <span role="status">
      <Button
        look="quiet"
        small
        className={isBroken || problems.some(isError) ? "!text-red" : "!text-amber"}
        icon={<CircleAlert />}
        onClick={() => document.select({ nodes: new Set(), edges: new Set() })}
      >
        {said}
      </Button>
    </span>
  );
}

function Files({ name, onImport }: Props) {
  const { document, isReadOnly } = useEditor();
  const exportIt = () => {
    const url = URL.createObjectURL(
      new Blob([document.state().text], { type: "application/json" }),
    );
    const link = window.document.createElement("a");
    link.href = url;
    link.download = `${name || document.kind.noun.replaceAll(" ", "-")}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  return (
    <Menu
      trigger={
        <Button look="quiet" icon={<FileIcon />}>
          File
        </Button>
      }
    >
      {!isReadOnly && (
        <MenuItem icon={<Upload />} onClick={onImport}>
          Import…
        </MenuItem>
      )}
      <MenuItem icon={<Download />} onClick={exportIt}>
        Export
      </MenuItem>
    </Menu>
  );
}

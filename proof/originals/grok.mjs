// Call the `view_file` tool of Grok CLI: one JSON object per line in, one answer out.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [module, root] = process.argv.slice(2);
process.chdir(root);
const { TextEditorTool } = await import(pathToFileURL(module));
const tool = new TextEditorTool();
for await (const line of createInterface({ input: process.stdin })) {
    const { path, start_line, end_line } = JSON.parse(line);
    // As the agent of the program calls it.
    const range = start_line && end_line ? [start_line, end_line] : undefined;
    let answer;
    try {
        const { success, output, error } = await tool.view(path, range);
        answer = { failed: !success, text: success ? output : error };
    } catch (error) {
        answer = { failed: true, text: `thrown: ${error.message}` };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
}

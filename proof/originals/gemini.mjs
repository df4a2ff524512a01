// Calls the tools of Gemini CLI: one JSON object with a tool and its arguments per line in, one with the answer out.
import fs from 'node:fs';
import readline from 'node:readline';
import path from 'node:path';

const [place, root] = process.argv.slice(2);
const load = (file) => import(path.join(place, 'node_modules/@google/gemini-cli-core/dist/src', file));
const print = console.log;
for (const name of ['log', 'info', 'warn', 'debug', 'error']) console[name] = () => {};
const { ReadFileTool } = await load('tools/read-file.js');
const { ReadManyFilesTool } = await load('tools/read-many-files.js');
const { detectFileType, getSpecificMimeType } = await load('utils/fileUtils.js');
const { FileExclusions } = await load('utils/ignorePatterns.js');
const known = {
  getTargetDir: () => root,
  validatePathAccess: (file) => {
    const real = fs.existsSync(file) ? fs.realpathSync(file) : file;
    return real === root || real.startsWith(root + '/') ? null : 'Path not in workspace';
  },
  isJitContextEnabled: () => false,
  getUsageStatisticsEnabled: () => false,
  getTelemetryEnabled: () => false,
  getFileFilteringOptions: () => ({ respectGitIgnore: false, respectGeminiIgnore: false }),
  getWorkspaceContext: () => ({ getDirectories: () => [root] }),
  getFileExclusions: () => new FileExclusions(),
  getFileService: () => ({ filterFilesWithReport: (files) => ({ filteredPaths: files, ignoredCount: 0 }) }),
};
const get = (target, key) => (key in target ? target[key] : key === 'then' ? undefined : () => undefined);
const config = new Proxy(known, { get });
const bus = { publish() {}, subscribe() {}, unsubscribe() {} };
const tools = { read_file: new ReadFileTool(config, bus), read_many_files: new ReadManyFilesTool(config, bus) };
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { tool, args } = JSON.parse(line);
  let answer;
  try {
    const call = tools[tool].build(args);
    const result = await call.execute({ abortSignal: new AbortController().signal });
    const files = call.resolvedPath ? [call.resolvedPath] : (result.returnDisplay.files ?? []);
    const skipped = (result.returnDisplay.skipped ?? []).map((one) => one.path);
    const kinds = {};
    for (const file of [...files, ...skipped].map((one) => path.resolve(root, one)))
      if (fs.existsSync(file)) kinds[file] = [await detectFileType(file), getSpecificMimeType(file)];
    answer = { failed: Boolean(result.error), content: result.llmContent, kinds };
  } catch (error) {
    answer = { failed: true, content: String(error.message) };
  }
  print(JSON.stringify(answer));
}

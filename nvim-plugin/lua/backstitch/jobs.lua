--- CI jobs: those of a workflow file, the one at the cursor, and a terminal window that steps through one or runs it.
local notice = require('backstitch.notice')
local outside = require('backstitch.outside')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Time limit of a list, in milliseconds.
local LIST_TIMEOUT = 10000
--- Height of the terminal window in lines.
local HEIGHT = 15

M.ACTIONS = { 'debug', 'run', 'attach' }

--- Address of nvim-dap, for those who do not have it.
M.NVIM_DAP = 'https://codeberg.org/mfussenegger/nvim-dap'

--- A workflow in the document of `job list`.
---@class backstitch.ListedWorkflow
---@field jobs { id: string, line: integer }[]
---@field problems backstitch.WorkflowProblem[]

---@class backstitch.WorkflowProblem
---@field line? integer
---@field message string

--- A run in the document of `job list --runs`.
---@class backstitch.KeptRun
---@field id string
---@field workflow? string
---@field job? string
---@field resumable boolean
---@field started? string

---@class backstitch.WorkflowJob
---@field file string Absolute path of the workflow.
---@field root string The directory around `.github`.
---@field id string
---@field line integer

--- Returns the repository of a workflow file, or nothing for another file.
---@param path string
---@return string?
function M.root(path)
  return path:match('^(.*)/%.github/workflows/[^/]+%.ya?ml$')
end

--- Returns the program with these arguments.
---@param args string[]
---@return string[]
local function command(args)
  local binary = server.binary()
  if not binary then
    task.fail({
      message = ("'%s' is not an executable"):format(server.program()),
      hint = ':checkhealth backstitch',
    })
  end
  return vim.list_extend({ binary }, args)
end

--- Runs the program, and returns its JSON document.
---@param root string
---@param args string[]
---@return table
local function ask(root, args)
  local options = { text = true, cwd = root, timeout = LIST_TIMEOUT }
  local answer = vim.system(command(vim.list_extend(args, { '--json' })), options):wait()
  local ok, document = pcall(vim.json.decode, answer.stdout or '', { luanil = { object = true } })
  if not ok or type(document) ~= 'table' then
    task.fail({ message = vim.trim(answer.stderr or '') })
  end
  return document
end

--- Returns the jobs of a workflow file in its order. A file with problems has none: they are the second value.
---@param path string
---@return backstitch.WorkflowJob[], backstitch.WorkflowProblem[]
function M.of_file(path)
  local root = M.root(path)
  if not root then
    return {}, {}
  end
  local list = ask(root, { 'job', 'list', path })
  local workflow = list.workflows and list.workflows[1] ---@type backstitch.ListedWorkflow?
  if not workflow then
    return {}, {}
  end
  local jobs = vim.tbl_map(function(job)
    return { file = path, root = root, id = job.id, line = job.line }
  end, workflow.jobs)
  return jobs, workflow.problems
end

--- Returns the runs of a repository that can be continued, the newest first.
---@param root string
---@return backstitch.KeptRun[]
function M.resumable(root)
  local list = ask(root, { 'job', 'list', '--runs' })
  local runs = vim.tbl_filter(function(run)
    return run.resumable
  end, list.runs or {})
  table.sort(runs, function(a, b)
    return (a.started or '') > (b.started or '')
  end)
  return runs
end

--- Returns the job around a line.
---@param jobs backstitch.WorkflowJob[]
---@param line integer
---@return backstitch.WorkflowJob?
function M.at(jobs, line)
  local found ---@type backstitch.WorkflowJob?
  for _, job in ipairs(jobs) do
    if job.line <= line then
      found = job
    end
  end
  return found
end

--- Returns the job at the cursor, the one with this name, or the one that the user selects.
---@async
---@param buf integer
---@param id? string
---@return backstitch.WorkflowJob
local function chosen(buf, id)
  local path = vim.api.nvim_buf_get_name(buf)
  if not M.root(path) then
    task.fail({ message = 'this buffer is not a workflow', hint = 'open a file of .github/workflows' })
  end
  if vim.bo[buf].modified then
    notice.say('backstitch: the job is read from the disk: this buffer has changes that are not written')
  end
  local jobs, problems = M.of_file(path)
  if problems[1] then
    local first = problems[1]
    task.fail({
      message = ('line %s: %s'):format(first.line or 1, first.message),
      hint = '`backstitch job list` in a shell lists all problems',
    })
  end
  if id then
    for _, job in ipairs(jobs) do
      if job.id == id then
        return job
      end
    end
    task.fail({ message = ("there is no job '%s' in this workflow"):format(id) })
  end
  local window = vim.fn.bufwinid(buf)
  local line = window > 0 and vim.api.nvim_win_get_cursor(window)[1] or 1
  local here = M.at(jobs, line) or #jobs == 1 and jobs[1]
  return here
    or task.select(jobs, {
      prompt = 'Which job?',
      format_item = function(job)
        return words.line(job.id)
      end,
    })
end

--- Runs a command of the program in a terminal window.
---@param root string
---@param args string[]
local function terminal(root, args)
  local line = command(args)
  vim.cmd(('botright %dnew'):format(HEIGHT))
  outside.terminal(line, root)
  vim.cmd.startinsert()
end

--- Says how to get nvim-dap, and offers a terminal. Another answer cancels.
---@async
local function offer_terminal()
  local here = 'Step through it in a terminal window'
  local how = 'Read how to install nvim-dap'
  local answer = task.select({ here, how }, {
    prompt = ('nvim-dap is not installed (%s)'):format(M.NVIM_DAP),
  })
  if answer == how then
    vim.cmd.help('backstitch-nvim-dap')
    error(task.CALLED_OFF, 0)
  end
end

--- Steps through a job: under nvim-dap, else in a terminal.
---@async
---@param buf integer
---@param id? string
function M.debug(buf, id)
  local job = chosen(buf, id)
  local dap = require('backstitch.dap')
  if dap.register() then
    return dap.start(dap.launch(job))
  end
  offer_terminal()
  terminal(job.root, { 'job', 'debug', job.file, '-j', job.id })
end

--- Runs a job in a terminal, without a stop.
---@async
---@param buf integer
---@param id? string
function M.run(buf, id)
  local job = chosen(buf, id)
  terminal(job.root, { 'job', 'run', job.file, '-j', job.id })
end

--- Continues a run that its editor or a kill has left.
---@async
---@param buf integer
---@param id? string
function M.attach(buf, id)
  local root = M.root(vim.api.nvim_buf_get_name(buf)) or server.root(buf) or vim.uv.cwd()
  local runs = M.resumable(assert(root))
  if #runs == 0 then
    task.fail({ message = 'no run can be continued', hint = ':Backstitch job starts one' })
  end
  if not id then
    id = #runs == 1 and runs[1].id
      or task.select(runs, {
        prompt = 'Which run?',
        format_item = function(run)
          return words.line(('%s: %s of %s'):format(run.id, run.job, run.workflow))
        end,
      }).id
  end
  local dap = require('backstitch.dap')
  if dap.register() then
    return dap.start(dap.attach(root, assert(id)))
  end
  offer_terminal()
  terminal(root, { 'job', 'debug', '--resume', assert(id) })
end

--- Completions of the second argument: names of jobs, or of runs.
---@param action? string
---@return string[]
function M.candidates(action)
  local path = vim.api.nvim_buf_get_name(0)
  local ok, found = pcall(function()
    if action == 'attach' then
      return M.resumable(assert(M.root(path) or server.root(0) or vim.uv.cwd()))
    end
    return (M.of_file(path))
  end)
  return ok and vim.tbl_map(function(each)
    return each.id
  end, found) or {}
end

return M

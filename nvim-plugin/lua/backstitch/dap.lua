--- CI jobs under nvim-dap: the adapter `backstitch-job`, and configurations for the jobs of a workflow. Everything goes by
--- nvim-dap's documented interface, and nothing is done without nvim-dap.
local jobs = require('backstitch.jobs')
local server = require('backstitch.server')
local task = require('backstitch.task')

local M = {}

--- Name of the adapter, as configurations have it in `type`.
M.TYPE = 'backstitch-job'

--- Key of what is registered.
local KEY = 'backstitch'
--- Time for which nvim-dap waits for the answer to a launch, in seconds.
local LAUNCH_TIMEOUT = 30
--- Height of the console in lines.
local HEIGHT = 12
--- Plugins that show the console of nvim-dap by themselves.
local VIEWS = { 'dapui', 'dap-view' }

---@return table? dap
local function find()
  local ok, dap = pcall(require, 'dap')
  return ok and type(dap) == 'table' and dap.run and dap or nil
end

--- The adapter for a configuration: it starts in the repository of the workflow.
---@param back fun(adapter: table)
---@param config table
local function adapter(back, config)
  local binary = server.binary()
  if not binary then
    require('backstitch.notice').say(
      ("backstitch: '%s' is not an executable. :checkhealth backstitch"):format(server.program()),
      vim.log.levels.ERROR
    )
    return
  end
  local workflow = type(config.workflow) == 'string' and jobs.root(config.workflow)
  back({
    type = 'executable',
    command = binary,
    args = { 'dap' },
    options = {
      cwd = workflow or config.cwd or server.root(0) or vim.uv.cwd(),
      initialize_timeout_sec = LAUNCH_TIMEOUT,
      source_filetype = 'sh',
    },
  })
end

--- Configuration that steps through a job.
---@param job backstitch.WorkflowJob
---@return table
function M.launch(job)
  return {
    type = M.TYPE,
    request = 'launch',
    name = ('%s: %s'):format(vim.fs.basename(job.file), job.id),
    workflow = job.file,
    job = job.id,
  }
end

--- Configuration that continues a run.
---@param root string
---@param run string
---@return table
function M.attach(root, run)
  return { type = M.TYPE, request = 'attach', name = 'continue ' .. run, run = run, cwd = root }
end

--- Configurations for a buffer: the job at the cursor, the other jobs, and a run that can be continued.
---@param buf integer
---@return table[]
function M.configurations(buf)
  local path = vim.api.nvim_buf_get_name(buf)
  local root = jobs.root(path)
  if not root then
    return {}
  end
  local ok, found = pcall(function()
    local all, problems = jobs.of_file(path)
    if problems[1] then
      task.fail({ message = ('line %s: %s'):format(problems[1].line or 1, problems[1].message) })
    end
    local window = vim.fn.bufwinid(buf)
    local here = jobs.at(all, window > 0 and vim.api.nvim_win_get_cursor(window)[1] or 1)
    local configurations = here and { M.launch(here) } or {}
    for _, job in ipairs(all) do
      if job ~= here then
        table.insert(configurations, M.launch(job))
      end
    end
    local run = jobs.resumable(root)[1]
    if run then
      table.insert(configurations, M.attach(root, run.id))
    end
    return configurations
  end)
  if not ok then
    require('backstitch.notice').say('backstitch: ' .. task.sentence(found), vim.log.levels.ERROR)
    return {}
  end
  return found
end

--- Registers the adapter and the configurations, if nvim-dap is there. True if it is. A user's own adapter of that name stays.
---@return boolean
function M.register()
  local dap = find()
  if not dap then
    return false
  end
  dap.adapters[M.TYPE] = dap.adapters[M.TYPE] or adapter
  local providers = dap.providers and dap.providers.configs
  if providers then
    providers[KEY] = M.configurations
  elseif not vim.iter(dap.configurations.yaml or {}):any(function(one)
    return one.type == M.TYPE
  end) then
    -- an older nvim-dap has fixed configurations, whose functions it calls
    dap.configurations.yaml = vim.list_extend(dap.configurations.yaml or {}, {
      {
        type = M.TYPE,
        request = 'launch',
        name = 'CI job at the cursor',
        workflow = '${file}',
        job = function()
          local all = jobs.of_file(vim.api.nvim_buf_get_name(0))
          local here = jobs.at(all, vim.api.nvim_win_get_cursor(0)[1])
          return here and here.id
        end,
      },
    })
  end
  return true
end

--- Starts a configuration, and shows the console, unless another plugin shows it.
---@param configuration table
function M.start(configuration)
  local dap = assert(find())
  dap.run(configuration, { filetype = 'yaml' })
  local is_shown = vim.iter(VIEWS):any(function(name)
    return package.loaded[name] ~= nil
  end)
  if not is_shown then
    dap.repl.open({ height = HEIGHT }, 'belowright split')
  end
end

--- Registers with nvim-dap once a workflow is opened, so that its key for a start finds the jobs.
function M.enable()
  if package.loaded.dap then
    M.register()
  end
  local group = vim.api.nvim_create_augroup('backstitch.dap', {})
  local id = vim.api.nvim_create_autocmd('BufReadPost', {
    group = group,
    pattern = { '*/.github/workflows/*.yml', '*/.github/workflows/*.yaml' },
    callback = function()
      -- true removes the autocommand
      return M.register()
    end,
  })
  -- files that were opened before
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if jobs.root(vim.api.nvim_buf_get_name(buf)) and M.register() then
      pcall(vim.api.nvim_del_autocmd, id)
      break
    end
  end
end

return M
